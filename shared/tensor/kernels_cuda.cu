// Two skeletons: elementwise, and a sum of integers for each block. Both move quads of 16 bytes. Each
// multiply and each add is an intrinsic that rounds on its own, sums are of integers, hence free of
// order: the bits are those of kernels.cpp.
#include "shared/tensor/kernels_cuda.h"

#include <bit>
#include <initializer_list>
#include <limits>

#include "shared/base/check.h"
#include "shared/tensor/hash_mix.h"

namespace godwit::cuda {
namespace {

constexpr unsigned kThreads = 256;
constexpr std::size_t kQuad = 4;

struct alignas(16) Quad {
  float lane[kQuad];
};

void require_aligned(std::initializer_list<const void*> pointers) {
  for (const void* pointer : pointers) {
    GODWIT_REQUIRE(reinterpret_cast<std::uintptr_t>(pointer) % alignof(Quad) == 0,
                   "device arrays are aligned to 16 bytes");
  }
}

unsigned grid_of(std::size_t thread_blocks) {
  GODWIT_REQUIRE(thread_blocks <= std::numeric_limits<int>::max(), "a grid has at most 2^31-1 blocks");
  return static_cast<unsigned>(thread_blocks);
}

// --- elementwise -----------------------------------------------------------------------------------

template <std::size_t kOut, std::size_t kIn>
struct Arrays {
  float* out[kOut];
  const float* in[kIn];
  std::size_t count;
};

// Everything is read before anything is written, so that an array may be input and output.
template <class Formula, std::size_t kOut, std::size_t kIn>
__device__ void map_value(const Arrays<kOut, kIn>& arrays, std::size_t i, const Formula& formula) {
  float in[kIn];
  float out[kOut];
  for (std::size_t a = 0; a < kIn; ++a) in[a] = arrays.in[a][i];
  formula(out, in);
  for (std::size_t a = 0; a < kOut; ++a) arrays.out[a][i] = out[a];
}

template <class Formula, std::size_t kOut, std::size_t kIn>
__device__ void map_quad(const Arrays<kOut, kIn>& arrays, std::size_t first, const Formula& formula) {
  Quad in[kIn];
  Quad out[kOut];
  for (std::size_t a = 0; a < kIn; ++a) in[a] = *reinterpret_cast<const Quad*>(arrays.in[a] + first);
  for (std::size_t lane = 0; lane < kQuad; ++lane) {
    float from[kIn];
    float to[kOut];
    for (std::size_t a = 0; a < kIn; ++a) from[a] = in[a].lane[lane];
    formula(to, from);
    for (std::size_t a = 0; a < kOut; ++a) out[a].lane[lane] = to[a];
  }
  for (std::size_t a = 0; a < kOut; ++a) *reinterpret_cast<Quad*>(arrays.out[a] + first) = out[a];
}

template <class Formula, std::size_t kOut, std::size_t kIn>
__global__ void map_kernel(Arrays<kOut, kIn> arrays, Formula formula) {
  const std::size_t first = (std::size_t{blockIdx.x} * kThreads + threadIdx.x) * kQuad;
  if (first + kQuad <= arrays.count) {
    map_quad(arrays, first, formula);
  } else {
    for (std::size_t i = first; i < arrays.count; ++i) map_value(arrays, i, formula);
  }
}

template <class Formula, std::size_t kOut, std::size_t kIn>
Result<void> map(const char* name, const Arrays<kOut, kIn>& arrays, const Formula& formula,
                 const Stream& stream) {
  for (const float* out : arrays.out) require_aligned({out});
  for (const float* in : arrays.in) require_aligned({in});
  if (arrays.count == 0) return {};
  const unsigned grid = grid_of(blocks_of(arrays.count, kThreads * kQuad));
  map_kernel<<<grid, kThreads, 0, stream.native()>>>(arrays, formula);
  return checked(cudaGetLastError(), name);
}

struct Add {
  __device__ void operator()(float (&out)[1], const float (&in)[2]) const {
    out[0] = __fadd_rn(in[0], in[1]);
  }
};

struct AddScaled {
  float scale;
  __device__ void operator()(float (&out)[1], const float (&in)[2]) const {
    out[0] = __fadd_rn(in[0], __fmul_rn(scale, in[1]));
  }
};

struct Subtract {
  __device__ void operator()(float (&out)[1], const float (&in)[2]) const {
    out[0] = __fsub_rn(in[0], in[1]);
  }
};

struct Scale {
  float scale;
  __device__ void operator()(float (&out)[1], const float (&in)[1]) const {
    out[0] = __fmul_rn(in[0], scale);
  }
};

struct SgdStep {  // in: base, sum
  float inverse_weight;
  float learning_rate;
  __device__ void operator()(float (&out)[1], const float (&in)[2]) const {
    const float gradient = __fmul_rn(in[1], inverse_weight);
    out[0] = __fsub_rn(in[0], __fmul_rn(learning_rate, gradient));
  }
};

struct NesterovStep {  // out: next, velocity; in: velocity, base, sum
  float inverse_weight;
  float learning_rate;
  float momentum;
  __device__ void operator()(float (&out)[2], const float (&in)[3]) const {
    const float gradient = __fmul_rn(in[2], inverse_weight);
    const float moved = __fadd_rn(__fmul_rn(momentum, in[0]), gradient);
    const float ahead = __fadd_rn(gradient, __fmul_rn(momentum, moved));
    out[0] = __fsub_rn(in[1], __fmul_rn(learning_rate, ahead));
    out[1] = moved;
  }
};

// --- a sum of integers for each block --------------------------------------------------------------

constexpr std::size_t kQuadsPerThread = 4;  // loads in flight, and few atomic additions
constexpr std::size_t kChunk = kThreads * kQuad * kQuadsPerThread;

template <std::size_t kIn>
struct Blocks {
  const float* in[kIn];
  std::size_t count;
  std::size_t block_values;

  unsigned chunks_per_block() const { return static_cast<unsigned>(blocks_of(block_values, kChunk)); }
};

// Adds the terms of all threads of this thread block to *total.
__device__ void add_up(std::uint64_t* total, std::uint64_t sum) {
  __shared__ std::uint64_t sums[kThreads / 32];
  for (int distance = 16; distance > 0; distance /= 2)
    sum += __shfl_down_sync(0xFFFFFFFF, sum, distance);
  if (threadIdx.x % 32 == 0) sums[threadIdx.x / 32] = sum;
  __syncthreads();
  if (threadIdx.x != 0) return;
  for (unsigned warp = 1; warp < kThreads / 32; ++warp) sum += sums[warp];
  static_assert(sizeof(unsigned long long) == sizeof(std::uint64_t));
  atomicAdd(reinterpret_cast<unsigned long long*>(total), sum);
}

// The terms of the values [first, first + kQuad) below `end`; positions count from `block_start`.
template <class Term, std::size_t kIn>
__device__ std::uint64_t quad_sum(const Blocks<kIn>& blocks, std::size_t block_start, std::size_t first,
                                  std::size_t end, const Term& term) {
  std::uint64_t sum = 0;
  const bool whole = first + kQuad <= end;
  Quad quads[kIn] = {};
  for (std::size_t a = 0; whole && a < kIn; ++a)
    quads[a] = *reinterpret_cast<const Quad*>(blocks.in[a] + first);
  for (std::size_t lane = 0; lane < kQuad; ++lane) {
    if (first + lane >= end) break;
    float in[kIn];
    for (std::size_t a = 0; a < kIn; ++a)
      in[a] = whole ? quads[a].lane[lane] : blocks.in[a][first + lane];
    sum += term(first + lane - block_start, in);
  }
  return sum;
}

// One thread block sums one chunk; a chunk lies in one block. Divides 32 bits, which is far cheaper than 64.
template <class Term, std::size_t kIn>
__global__ void sum_kernel(std::uint64_t* totals, Blocks<kIn> blocks, unsigned chunks_per_block, Term term) {
  const std::size_t block = blockIdx.x / chunks_per_block;
  const std::size_t block_start = block * blocks.block_values;
  const std::size_t start = block_start + std::size_t{blockIdx.x % chunks_per_block} * kChunk;
  const std::size_t block_end = min(block_start + blocks.block_values, blocks.count);
  const std::size_t end = min(start + kChunk, block_end);
  std::uint64_t sum = 0;
#pragma unroll
  for (std::size_t k = 0; k < kQuadsPerThread; ++k) {
    const std::size_t first = start + (k * kThreads + threadIdx.x) * kQuad;
    sum += quad_sum(blocks, block_start, first, end, term);
  }
  add_up(totals + block, sum);
}

template <class Term, std::size_t kIn>
Result<void> sum_blocks(const char* name, std::uint64_t* totals, const Blocks<kIn>& blocks,
                        const Term& term, const Stream& stream) {
  for (const float* in : blocks.in) require_aligned({in});
  const std::size_t block_values = blocks.block_values;
  GODWIT_REQUIRE(block_values > 0 && block_values % kQuad == 0, "blocks start at a quad");
  GODWIT_REQUIRE(block_values <= kBlockValuesMax, "a block has at most 2^32 values");
  if (blocks.count == 0) return {};
  const std::size_t bytes = blocks_of(blocks.count, block_values) * sizeof(std::uint64_t);
  if (Result<void> zeroed = checked(cudaMemsetAsync(totals, 0, bytes, stream.native()), name); !zeroed)
    return zeroed;
  const std::size_t chunks = blocks.count / block_values * blocks.chunks_per_block() +
                             blocks_of(blocks.count % block_values, kChunk);
  sum_kernel<<<grid_of(chunks), kThreads, 0, stream.native()>>>(totals, blocks, blocks.chunks_per_block(), term);
  return checked(cudaGetLastError(), name);
}

struct HashTerm {
  __device__ std::uint64_t operator()(std::size_t position, const float (&in)[1]) const {
    return kernels::mix(position, in[0]);
  }
};

struct HashChangeTerm {  // in: before, after
  __device__ std::uint64_t operator()(std::size_t position, const float (&in)[2]) const {
    return kernels::mix(position, in[1]) - kernels::mix(position, in[0]);
  }
};

struct NotFiniteTerm {
  __device__ std::uint64_t operator()(std::size_t, const float (&in)[1]) const {
    constexpr std::uint32_t kExponent = 0x7F800000;  // all ones: infinity or NaN
    return (std::bit_cast<std::uint32_t>(in[0]) & kExponent) == kExponent ? 1 : 0;
  }
};

}  // namespace

Result<void> add(float* target, const float* source, std::size_t count, const Stream& stream) {
  return map("add", Arrays<1, 2>{{target}, {target, source}, count}, Add{}, stream);
}

Result<void> add_scaled(float* target, const float* source, std::size_t count, float scale,
                        const Stream& stream) {
  return map("add_scaled", Arrays<1, 2>{{target}, {target, source}, count}, AddScaled{scale}, stream);
}

Result<void> subtract(float* out, const float* left, const float* right, std::size_t count,
                      const Stream& stream) {
  return map("subtract", Arrays<1, 2>{{out}, {left, right}, count}, Subtract{}, stream);
}

Result<void> scale(float* target, std::size_t count, float scale, const Stream& stream) {
  return map("scale", Arrays<1, 1>{{target}, {target}, count}, Scale{scale}, stream);
}

Result<void> sgd_step(float* next, const float* base, const float* sum, std::size_t count,
                      float inverse_weight, float learning_rate, const Stream& stream) {
  return map("sgd_step", Arrays<1, 2>{{next}, {base, sum}, count},
             SgdStep{inverse_weight, learning_rate}, stream);
}

Result<void> nesterov_step(float* next, float* velocity, const float* base, const float* sum,
                           std::size_t count, float inverse_weight, float learning_rate,
                           float momentum, const Stream& stream) {
  return map("nesterov_step", Arrays<2, 3>{{next, velocity}, {velocity, base, sum}, count},
             NesterovStep{inverse_weight, learning_rate, momentum}, stream);
}

Result<void> block_hashes(std::uint64_t* hashes, const float* values, std::size_t count,
                          std::size_t block_values, const Stream& stream) {
  return sum_blocks("block_hashes", hashes, Blocks<1>{{values}, count, block_values}, HashTerm{}, stream);
}

Result<void> block_hash_changes(std::uint64_t* changes, const float* before, const float* after,
                                std::size_t count, std::size_t block_values, const Stream& stream) {
  return sum_blocks("block_hash_changes", changes, Blocks<2>{{before, after}, count, block_values},
                    HashChangeTerm{}, stream);
}

Result<void> count_not_finite(std::uint64_t* counts, const float* values, std::size_t count,
                              std::size_t block_values, const Stream& stream) {
  return sum_blocks("count_not_finite", counts, Blocks<1>{{values}, count, block_values},
                    NotFiniteTerm{}, stream);
}

}  // namespace godwit::cuda
