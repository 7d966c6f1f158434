// bf16: the upper half of each fp32, rounded to nearest, ties to even. A finite value never becomes
// infinite: what would round to infinity is the largest finite bf16. (NaN and infinity, which
// encode() need not accept, stay what they are, so that whoever admits the block still sees them.)
// Error: at most 2^-8 of the value (2^-9 up to the largest bf16), 2^-134 below 2^-126.
//
// Layout: value i is 2 bytes, little-endian, at offset 2 i. Integer operations only, one lane per
// value, hence the same on every CPU and GPU whatever it does with denormals.
#include <algorithm>
#include <bit>
#include <cstring>

#include "shared/codec/codec.h"

namespace godwit {
namespace {

constexpr std::uint32_t kInfinity = 0x7F800000;
constexpr std::uint32_t kLargestBf16 = 0x7F7F;

std::uint16_t to_bf16(float value) {
  const auto bits = std::bit_cast<std::uint32_t>(value);
  const std::uint32_t sign = bits >> 16 & 0x8000;
  const std::uint32_t magnitude = bits & 0x7FFFFFFF;
  const std::uint32_t rounded = (magnitude + 0x7FFF + (magnitude >> 16 & 1)) >> 16;
  const std::uint32_t finite = std::min(rounded, kLargestBf16);
  const std::uint32_t special = magnitude > kInfinity ? 0x7FC0 : 0x7F80;
  return static_cast<std::uint16_t>(sign | (magnitude < kInfinity ? finite : special));
}

float from_bf16(std::uint16_t half) {
  return std::bit_cast<float>(static_cast<std::uint32_t>(half) << 16);
}

class Bf16Codec final : public Codec {
 public:
  CodecId id() const override { return CodecId::kBf16; }
  std::string_view name() const override { return "bf16"; }
  std::size_t max_encoded_bytes(std::size_t count) const override {
    return count * sizeof(std::uint16_t);
  }
  std::size_t element_bytes() const override { return sizeof(std::uint16_t); }

  void encode(std::span<const float> values, Bytes& out) const override {
    const std::size_t start = out.size();
    out.resize(start + max_encoded_bytes(values.size()));
    std::byte* to = out.data() + start;
    for (std::size_t i = 0; i < values.size(); ++i) {
      const std::uint16_t half = to_bf16(values[i]);
      std::memcpy(to + i * sizeof(half), &half, sizeof(half));
    }
  }

  Result<void> decode(ByteView bytes, std::span<float> values) const override {
    if (bytes.size() != max_encoded_bytes(values.size())) {
      return Error{Errc::kMalformed, "bf16 block of " + std::to_string(values.size()) +
                                         " values has " + std::to_string(bytes.size()) + " bytes"};
    }
    for (std::size_t i = 0; i < values.size(); ++i) {
      std::uint16_t half = 0;
      std::memcpy(&half, bytes.data() + i * sizeof(half), sizeof(half));
      values[i] = from_bf16(half);
    }
    return {};
  }
};

}  // namespace

const Codec& bf16_codec() {
  static const Bf16Codec codec;
  return codec;
}

}  // namespace godwit
