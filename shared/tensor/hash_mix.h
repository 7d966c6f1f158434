// What one value adds to the hash of its block; the scalar and the GPU version add up the same terms.
#pragma once

#include <bit>
#include <cstdint>

namespace godwit::kernels {

// The finaliser of SplitMix64 over (position, bits). It is a bijection: two blocks that differ in
// one word never hash alike. The offset keeps a zero at position 0 from mixing to 0.
constexpr std::uint64_t mix(std::uint64_t position, float value) {
  std::uint64_t x = (position << 32 | std::bit_cast<std::uint32_t>(value)) + 0x9E3779B97F4A7C15;
  x = (x ^ x >> 30) * 0xBF58476D1CE4E5B9;
  x = (x ^ x >> 27) * 0x94D049BB133111EB;
  return x ^ x >> 31;
}

}  // namespace godwit::kernels
