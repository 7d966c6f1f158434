// Scalar reference of every kernel: what a vectorised or GPU version must match bit for bit. Plain
// loops without branches, calls or reassociation, so that a compiler may vectorise them and change
// nothing. The build sets -ffp-contract=off: each multiply and each add rounds on its own.
#include "shared/tensor/kernels.h"

#include <array>
#include <bit>
#include <cstddef>

#include "shared/base/check.h"
#include "shared/tensor/hash_mix.h"

namespace godwit::kernels {

void add_scaled(std::span<float> target, std::span<const float> source, float scale) {
  GODWIT_REQUIRE(target.size() == source.size(), "spans of one call have equal length");
  for (std::size_t i = 0; i < target.size(); ++i) target[i] += scale * source[i];
}

void add(std::span<float> target, std::span<const float> source) {
  GODWIT_REQUIRE(target.size() == source.size(), "spans of one call have equal length");
  for (std::size_t i = 0; i < target.size(); ++i) target[i] += source[i];
}

void subtract(std::span<float> out, std::span<const float> left, std::span<const float> right) {
  GODWIT_REQUIRE(out.size() == left.size(), "spans of one call have equal length");
  GODWIT_REQUIRE(out.size() == right.size(), "spans of one call have equal length");
  for (std::size_t i = 0; i < out.size(); ++i) out[i] = left[i] - right[i];
}

void scale(std::span<float> target, float scale) {
  for (float& value : target) value *= scale;
}

double sum_of_squares(std::span<const float> values) {
  std::array<double, kSquareLanes> lanes{};
  const auto add_square = [&lanes](std::size_t lane, float value) {
    lanes[lane] += static_cast<double>(value) * static_cast<double>(value);
  };
  const std::size_t rest = values.size() % kSquareLanes;
  for (std::size_t i = 0; i < values.size() - rest; i += kSquareLanes) {
    for (std::size_t lane = 0; lane < kSquareLanes; ++lane) add_square(lane, values[i + lane]);
  }
  for (std::size_t lane = 0; lane < rest; ++lane) add_square(lane, values[values.size() - rest + lane]);
  double sum = 0;
  for (const double lane : lanes) sum += lane;
  return sum;
}

bool all_finite(std::span<const float> values) {
  constexpr std::uint32_t kExponent = 0x7F800000;  // all ones: infinity or NaN
  std::uint32_t found = 0;
  for (const float value : values) {
    found |=
        static_cast<std::uint32_t>((std::bit_cast<std::uint32_t>(value) & kExponent) == kExponent);
  }
  return found == 0;
}

void sgd_step(std::span<float> next, std::span<const float> base, std::span<const float> sum,
              float inverse_weight, float learning_rate) {
  GODWIT_REQUIRE(next.size() == base.size(), "spans of one call have equal length");
  GODWIT_REQUIRE(next.size() == sum.size(), "spans of one call have equal length");
  for (std::size_t i = 0; i < next.size(); ++i) {
    const float gradient = sum[i] * inverse_weight;
    next[i] = base[i] - learning_rate * gradient;
  }
}

void nesterov_step(std::span<float> next, std::span<float> velocity, std::span<const float> base,
                   std::span<const float> sum, float inverse_weight, float learning_rate,
                   float momentum) {
  GODWIT_REQUIRE(next.size() == velocity.size(), "spans of one call have equal length");
  GODWIT_REQUIRE(next.size() == base.size(), "spans of one call have equal length");
  GODWIT_REQUIRE(next.size() == sum.size(), "spans of one call have equal length");
  for (std::size_t i = 0; i < next.size(); ++i) {
    const float gradient = sum[i] * inverse_weight;
    const float moved = momentum * velocity[i] + gradient;
    const float before = base[i];
    velocity[i] = moved;
    next[i] = before - learning_rate * (gradient + momentum * moved);
  }
}

Hash block_hash(std::span<const float> values) {
  std::uint64_t sum = 0;
  for (std::size_t i = 0; i < values.size(); ++i) sum += mix(i, values[i]);
  return Hash(sum);
}

std::uint64_t block_hash_change(std::span<const float> before, std::span<const float> after) {
  GODWIT_REQUIRE(before.size() == after.size(), "spans of one call have equal length");
  std::uint64_t change = 0;
  for (std::size_t i = 0; i < before.size(); ++i) change += mix(i, after[i]) - mix(i, before[i]);
  return change;
}

}  // namespace godwit::kernels
