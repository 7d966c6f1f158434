// The arithmetic of one int8 group, written once for the scalar and the GPU codec. What it means and
// why it is exact: int8_codec.cpp.
#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>
#include <limits>

namespace godwit::int8 {

inline constexpr std::size_t kGroup = 256;  // values that share one scale
inline constexpr float kLargestQ = 127;
inline constexpr float kSmallestScale = std::numeric_limits<float>::min();  // 2^-126
inline constexpr std::uint32_t kDroppedBits = 0x7F;                         // of a scale: 24 - 17 = 7

constexpr float scale_of(float largest) {
  const float exact = largest / kLargestQ;
  if (exact < kSmallestScale) return 0;
  const auto bits = std::bit_cast<std::uint32_t>(exact);
  const std::uint32_t rounded = bits + kDroppedBits / 2 + (bits >> 7 & 1);
  return std::bit_cast<float>(rounded & ~kDroppedBits);
}

inline constexpr float kLargestScale = scale_of(std::numeric_limits<float>::max());
static_assert(kLargestScale * kLargestQ <= std::numeric_limits<float>::max());

// A scale that scale_of can return. The sign bit, NaN and infinity all compare above kLargestScale.
constexpr bool is_scale(float scale) {
  const auto bits = std::bit_cast<std::uint32_t>(scale);
  if (bits == 0) return true;
  return bits >= std::bit_cast<std::uint32_t>(kSmallestScale) &&
         bits <= std::bit_cast<std::uint32_t>(kLargestScale) && (bits & kDroppedBits) == 0;
}

// What values are divided by: a group whose scale is 0 becomes zeros, since each is far below 1/2.
constexpr float divisor_of(float scale) { return scale == 0 ? 1 : scale; }

// The byte of an integer in [-127, 127]: adding 1.5 * 2^23 leaves no fraction bits, so that the
// addition rounds to an integer, ties to even, whose two's complement stands in the low bits.
constexpr std::uint8_t round_to_byte(float quotient) {
  return static_cast<std::uint8_t>(std::bit_cast<std::uint32_t>(quotient + 12582912.0F));
}

constexpr std::size_t scale_bytes(std::size_t count) {
  return (count + kGroup - 1) / kGroup * sizeof(float);
}
constexpr std::size_t encoded_bytes(std::size_t count) { return scale_bytes(count) + count; }

}  // namespace godwit::int8
