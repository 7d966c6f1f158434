// A warp owns a group: each lane holds two quads of its values, 128 values apart, so that a warp reads
// and writes neighbouring memory.
#include "shared/codec/int8_codec_cuda.h"

#include <bit>

#include "shared/base/check.h"
#include "shared/codec/int8_group.h"

namespace godwit::cuda {
namespace {

constexpr unsigned kThreads = 256;
constexpr unsigned kLanes = 32;
constexpr unsigned kGroupsPerThreadBlock = kThreads / kLanes;
constexpr unsigned kQuad = 4;
constexpr unsigned kQuads = 2;  // of a lane
static_assert(kLanes * kQuads * kQuad == int8::kGroup);

struct alignas(16) Quad {
  float lane[kQuad];
};
struct alignas(4) ByteQuad {
  std::uint8_t lane[kQuad];
};

struct Layout {
  std::size_t count;
  std::size_t block_values;
  std::uint32_t groups_per_block;
};

// Where a group lies. Offsets in the encoding are multiples of 4.
struct Group {
  std::size_t value;     // index of its first value
  unsigned length;       // kGroup, or less at the end of everything
  std::size_t scale_at;  // byte offset of its scale
  std::size_t bytes_at;  // byte offset of its first q
};

// Divides 32 bits, which is far cheaper than 64.
__device__ Group locate(const Layout& layout, std::uint32_t index) {
  const std::size_t block = index / layout.groups_per_block;
  const std::size_t within = index % layout.groups_per_block;
  const std::size_t block_start = block * layout.block_values;
  const std::size_t here = min(layout.block_values, layout.count - block_start);
  const std::size_t block_at = block * int8::encoded_bytes(layout.block_values);
  const std::size_t value = block_start + within * int8::kGroup;
  return {value, static_cast<unsigned>(min(int8::kGroup, layout.count - value)),
          block_at + within * sizeof(float),
          block_at + int8::scale_bytes(here) + within * int8::kGroup};
}

// The group of this warp: past the end in the last thread block.
__device__ std::uint32_t group_index() {
  return blockIdx.x * kGroupsPerThreadBlock + threadIdx.x / kLanes;
}

// Index in the group of the first value of a quad of this lane.
__device__ unsigned quad_start(unsigned quad) {
  return (quad * kLanes + threadIdx.x % kLanes) * kQuad;
}

// Four neighbours of a group; those past its end are zero, and are not stored.
template <class Four, class T>
__device__ Four load(const T* group, unsigned first, unsigned length) {
  if (first + kQuad <= length) return *reinterpret_cast<const Four*>(group + first);
  Four four = {};
  for (unsigned i = 0; i < kQuad; ++i) {
    if (first + i < length) four.lane[i] = group[first + i];
  }
  return four;
}

template <class Four, class T>
__device__ void store(T* group, unsigned first, unsigned length, const Four& four) {
  if (first + kQuad <= length) {
    *reinterpret_cast<Four*>(group + first) = four;
    return;
  }
  for (unsigned i = 0; i < kQuad; ++i) {
    if (first + i < length) group[first + i] = four.lane[i];
  }
}

__global__ void encode_kernel(std::uint8_t* encoded, const float* values, Layout layout) {
  const std::size_t index = group_index();
  if (index * int8::kGroup >= layout.count) return;
  const Group group = locate(layout, index);
  Quad quads[kQuads];
  std::uint32_t largest = 0;  // magnitudes order as their bits do
  for (unsigned q = 0; q < kQuads; ++q) {
    quads[q] = load<Quad>(values + group.value, quad_start(q), group.length);
    for (const float value : quads[q].lane)
      largest = max(largest, std::bit_cast<std::uint32_t>(value) & 0x7FFFFFFF);
  }
  largest = __reduce_max_sync(0xFFFFFFFF, largest);
  const float scale = int8::scale_of(std::bit_cast<float>(largest));
  const float divisor = int8::divisor_of(scale);
  for (unsigned q = 0; q < kQuads; ++q) {
    ByteQuad bytes;
    for (unsigned i = 0; i < kQuad; ++i)
      bytes.lane[i] = int8::round_to_byte(__fdiv_rn(quads[q].lane[i], divisor));
    store(encoded + group.bytes_at, quad_start(q), group.length, bytes);
  }
  if (threadIdx.x % kLanes == 0) *reinterpret_cast<float*>(encoded + group.scale_at) = scale;
}

__global__ void decode_kernel(float* values, std::uint32_t* malformed, const std::uint8_t* encoded,
                              Layout layout) {
  const std::size_t index = group_index();
  if (index * int8::kGroup >= layout.count) return;
  const Group group = locate(layout, index);
  const float scale = *reinterpret_cast<const float*>(encoded + group.scale_at);
  bool bad = !int8::is_scale(scale);
  for (unsigned q = 0; q < kQuads; ++q) {
    const auto bytes = load<ByteQuad>(encoded + group.bytes_at, quad_start(q), group.length);
    Quad decoded;
    for (unsigned i = 0; i < kQuad; ++i) {
      const auto integer = static_cast<std::int8_t>(bytes.lane[i]);
      bad = bad || integer == -128;
      decoded.lane[i] = __fmul_rn(static_cast<float>(integer), scale);
    }
    store(values + group.value, quad_start(q), group.length, decoded);
  }
  if (bad) *malformed = 1;  // whoever writes, writes the same
}

unsigned grid_of(const Layout& layout) {
  const std::size_t per_thread_block = kGroupsPerThreadBlock * int8::kGroup;
  return static_cast<unsigned>((layout.count + per_thread_block - 1) / per_thread_block);
}

Layout layout_of(const void* encoded, const float* values, std::size_t count, std::size_t block_values) {
  const auto bits = reinterpret_cast<std::uintptr_t>(encoded) | reinterpret_cast<std::uintptr_t>(values);
  GODWIT_REQUIRE(bits % alignof(Quad) == 0, "device arrays are aligned to 16 bytes");
  GODWIT_REQUIRE(block_values > 0 && block_values % int8::kGroup == 0, "a block is whole groups");
  constexpr std::size_t kMost = std::size_t{1} << 39;  // fewer than 2^32 groups
  GODWIT_REQUIRE(count <= kMost && block_values <= kMost, "at most 2^39 values");
  return {count, block_values, static_cast<std::uint32_t>(block_values / int8::kGroup)};
}

}  // namespace

std::size_t int8_bytes(std::size_t count, std::size_t block_values) {
  return count / block_values * int8::encoded_bytes(block_values) +
         int8::encoded_bytes(count % block_values);
}

Result<void> encode_int8(std::byte* encoded, const float* values, std::size_t count,
                         std::size_t block_values, const Stream& stream) {
  const Layout layout = layout_of(encoded, values, count, block_values);
  if (count == 0) return {};
  encode_kernel<<<grid_of(layout), kThreads, 0, stream.native()>>>(
      reinterpret_cast<std::uint8_t*>(encoded), values, layout);
  return checked(cudaGetLastError(), "encode_int8");
}

Result<void> decode_int8(float* values, std::uint32_t* malformed, const std::byte* encoded,
                         std::size_t bytes, std::size_t count, std::size_t block_values,
                         const Stream& stream) {
  const Layout layout = layout_of(encoded, values, count, block_values);
  if (bytes != int8_bytes(count, block_values)) {
    return Error{Errc::kMalformed, "int8 blocks of together " + std::to_string(count) +
                                       " values have " + std::to_string(bytes) + " bytes"};
  }
  const Result<void> zeroed =
      checked(cudaMemsetAsync(malformed, 0, sizeof(*malformed), stream.native()), "decode_int8");
  if (!zeroed || count == 0) return zeroed;
  decode_kernel<<<grid_of(layout), kThreads, 0, stream.native()>>>(
      values, malformed, reinterpret_cast<const std::uint8_t*>(encoded), layout);
  return checked(cudaGetLastError(), "decode_int8");
}

}  // namespace godwit::cuda
