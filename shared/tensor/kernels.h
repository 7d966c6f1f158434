// Kernels: free functions on spans, elementwise fp32 with explicitly rounded multiply and add, so
// that the same input gives the same bits everywhere. Spans of one call have equal length
// (asserted) and do not overlap unless they are the same span.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "shared/base/strong_id.h"

namespace godwit::kernels {

// target[i] += scale * source[i]: product rounded, then sum rounded.
void add_scaled(std::span<float> target, std::span<const float> source, float scale);
// target[i] += source[i]
void add(std::span<float> target, std::span<const float> source);
// out[i] = left[i] - right[i]
void subtract(std::span<float> out, std::span<const float> left, std::span<const float> right);
// target[i] *= scale
void scale(std::span<float> target, float scale);
// Sum of squares in double, in a fixed order (so: the same on every machine): value i belongs to lane
// i mod 8, each lane sums in index order, the lanes are added in order. One chain of additions would take
// longer than everything else that is done with a push.
inline constexpr std::size_t kSquareLanes = 8;
double sum_of_squares(std::span<const float> values);
bool all_finite(std::span<const float> values);

// Outer SGD: g = sum*inverse_weight; next = base - rate*g.
void sgd_step(std::span<float> next, std::span<const float> base, std::span<const float> sum,
              float inverse_weight, float learning_rate);
// Nesterov as in DiLoCo (arXiv 2311.08105): g = sum*inverse_weight; v = momentum*v + g;
// next = base - rate*(g + momentum*v).
void nesterov_step(std::span<float> next, std::span<float> velocity, std::span<const float> base,
                   std::span<const float> sum, float inverse_weight, float learning_rate,
                   float momentum);

// Hash of a block: sum over positions of mix(position, bits) modulo 2^64. Order-free, so GPU and
// CPU agree, and incremental: hash(new) = hash(old) + block_hash_change(...). The empty block
// hashes to 0, but zeros do not.
Hash block_hash(std::span<const float> values);
// The change of block_hash when `before` becomes `after`.
std::uint64_t block_hash_change(std::span<const float> before, std::span<const float> after);

}  // namespace godwit::kernels
