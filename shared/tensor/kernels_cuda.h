// The kernels of kernels.h on a GPU, with the same bits (a NaN is a NaN, but its payload is the
// machine's). Pointers are device memory, aligned to 16 bytes (REQUIRED): whole DeviceBuffers, or
// blocks inside them. `count` is in values. Arrays of one call are the same array or do not overlap.
// A call returns once its work is queued on `stream`; its Result says whether it was.
//
// There is no sum_of_squares: its order of addition, eight chains, leaves a GPU nothing to do at once.
#pragma once

#include <cstddef>
#include <cstdint>

#include "shared/base/result.h"
#include "shared/tensor/cuda_device.h"

namespace godwit::cuda {

// Elementwise; formulas and argument names as in kernels.h. add() applies an update to parameters.
Result<void> add(float* target, const float* source, std::size_t count, const Stream& stream);
Result<void> add_scaled(float* target, const float* source, std::size_t count, float scale,
                        const Stream& stream);
Result<void> subtract(float* out, const float* left, const float* right, std::size_t count,
                      const Stream& stream);
Result<void> scale(float* target, std::size_t count, float scale, const Stream& stream);
Result<void> sgd_step(float* next, const float* base, const float* sum, std::size_t count,
                      float inverse_weight, float learning_rate, const Stream& stream);
Result<void> nesterov_step(float* next, float* velocity, const float* base, const float* sum,
                           std::size_t count, float inverse_weight, float learning_rate,
                           float momentum, const Stream& stream);

// Of every block at once: `count` values are blocks of `block_values` each (REQUIRED: a multiple of
// 4, at most kBlockValuesMax), the last one perhaps shorter. Writes blocks_of(count, block_values) numbers.
inline constexpr std::size_t kBlockValuesMax = std::size_t{1} << 32;
constexpr std::size_t blocks_of(std::size_t count, std::size_t block_values) {
  return (count + block_values - 1) / block_values;
}
Result<void> block_hashes(std::uint64_t* hashes, const float* values, std::size_t count,
                          std::size_t block_values, const Stream& stream);
Result<void> block_hash_changes(std::uint64_t* changes, const float* before, const float* after,
                                std::size_t count, std::size_t block_values, const Stream& stream);
// How many values of each block are NaN or infinite: all_finite where it is 0.
Result<void> count_not_finite(std::uint64_t* counts, const float* values, std::size_t count,
                              std::size_t block_values, const Stream& stream);

}  // namespace godwit::cuda
