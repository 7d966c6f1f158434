// The codec int8 (int8_codec.cpp) on a GPU: the same bytes. Pointers are device memory, aligned to 16
// bytes (REQUIRED); a call returns once its work is queued on `stream`.
//
// Every block at once: `count` values are blocks of `block_values` each (REQUIRED: a multiple of
// int8::kGroup; at most 2^39), the last one perhaps shorter; their encodings lie one after another
// without a gap.
#pragma once

#include <cstddef>
#include <cstdint>

#include "shared/base/result.h"
#include "shared/tensor/cuda_device.h"

namespace godwit::cuda {

// Bytes of all encoded blocks together.
std::size_t int8_bytes(std::size_t count, std::size_t block_values);

// Writes int8_bytes(count, block_values) bytes. REQUIRES: finite values (see count_not_finite).
Result<void> encode_int8(std::byte* encoded, const float* values, std::size_t count,
                         std::size_t block_values, const Stream& stream);

// Sets *malformed (device memory) to 1, and leaves `values` unspecified, if a scale or a byte is none
// that an encoder writes; to 0 otherwise. Error: kMalformed if `bytes` is not what blocks of this size
// have, and then nothing is queued.
Result<void> decode_int8(float* values, std::uint32_t* malformed, const std::byte* encoded,
                         std::size_t bytes, std::size_t count, std::size_t block_values,
                         const Stream& stream);

}  // namespace godwit::cuda
