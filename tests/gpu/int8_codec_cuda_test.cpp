// int8 on the GPU against the codec of the table: the same bytes, the same values, the same refusals.
#include "shared/codec/int8_codec_cuda.h"

#include <bit>
#include <limits>

#include "shared/codec/codec.h"
#include "tests/gpu/gpu_fixture.h"

namespace godwit {
namespace {

constexpr CodecSpec kInt8{CodecId::kInt8, false};
constexpr std::size_t kCounts[] = {0, 1, 4, 127, 255, 256, 257, 2049, 4096, 1 << 18, 2 * (1 << 18) + 777};

Bytes encode_blocks(const std::vector<float>& values, std::size_t block) {
  Bytes all;
  for (std::size_t at = 0; at < values.size(); at += block) {
    const Bytes one = encode_block(kInt8, std::span(values).subspan(at, std::min(block, values.size() - at)));
    all.insert(all.end(), one.begin(), one.end());
  }
  return all;
}

class GpuInt8 : public GpuTest {
 protected:
  // Decodes one block of `count` values; true: the device found it malformed.
  bool is_malformed(const Bytes& encoded, std::size_t count) {
    DeviceArray<std::byte> bytes(encoded, stream());
    DeviceArray<float> values(std::vector<float>(count), stream());
    DeviceArray<std::uint32_t> malformed({7}, stream());
    expect_ok(cuda::decode_int8(values.data(), malformed.data(), bytes.data(), encoded.size(), count, 1024,
                                stream()));
    return malformed.read()[0] != 0;
  }
};

TEST_F(GpuInt8, BytesAndValuesAreThoseOfTheScalarCodec) {
  for (const GpuSample& sample : gpu_samples()) {
    if (!sample.finite) continue;
    for (const std::size_t count : kCounts) {
      Random random(count + 3);
      const std::vector<float> values = sample.values(count, random);
      DeviceArray<float> input(values, stream());
      for (const std::size_t block : {std::size_t{256}, std::size_t{1024}, std::size_t{1} << 18}) {
        SCOPED_TRACE(sample.name + ", " + std::to_string(count) + " in blocks of " + std::to_string(block));
        const Bytes expected = encode_blocks(values, block);
        ASSERT_EQ(cuda::int8_bytes(count, block), expected.size());
        DeviceArray<std::byte> encoded(Bytes(expected.size()), stream());
        expect_ok(cuda::encode_int8(encoded.data(), input.data(), count, block, stream()));
        ASSERT_TRUE(encoded.read() == expected);

        std::vector<float> decoded(count);
        for (std::size_t at = 0, from = 0; at < count; at += block) {
          const std::span<float> here = std::span(decoded).subspan(at, std::min(block, count - at));
          const std::size_t bytes = max_block_bytes(kInt8, here.size());
          expect_ok(decode_block(kInt8, ByteView(expected).subspan(from, bytes), here));
          from += bytes;
        }
        DeviceArray<float> output(std::vector<float>(count, -1), stream());
        DeviceArray<std::uint32_t> malformed({7}, stream());
        expect_ok(cuda::decode_int8(output.data(), malformed.data(), encoded.data(), expected.size(), count,
                                    block, stream()));
        expect_same(output.read(), decoded);
        EXPECT_EQ(malformed.read()[0], 0U);
        if (HasFailure()) return;
      }
    }
  }
}

TEST_F(GpuInt8, WhatNoEncoderWritesIsRefused) {
  constexpr std::size_t kCount = 700;
  Random random(1);
  const Bytes good = encode_blocks(gpu_samples().front().values(kCount, random), 1024);
  EXPECT_FALSE(is_malformed(good, kCount));
  std::vector<float> ignored(kCount);
  const std::size_t scales = good.size() - kCount;
  for (const std::size_t at : {scales, scales + 255, scales + 256, good.size() - 1}) {
    Bytes bad = good;
    bad[at] = std::byte{0x80};
    EXPECT_TRUE(is_malformed(bad, kCount)) << "-128 at " << at;
    EXPECT_FALSE(decode_block(kInt8, bad, ignored));
  }
  for (const float scale : {-1.0F, -0.0F, std::numeric_limits<float>::infinity(),
                            std::numeric_limits<float>::quiet_NaN(), std::numeric_limits<float>::denorm_min(),
                            std::bit_cast<float>(0x3F800001U), std::numeric_limits<float>::max()}) {
    for (std::size_t at = 0; at < scales; at += sizeof(scale)) {
      Bytes bad = good;
      std::memcpy(bad.data() + at, &scale, sizeof(scale));
      EXPECT_TRUE(is_malformed(bad, kCount)) << "scale " << scale << " at byte " << at;
      EXPECT_FALSE(decode_block(kInt8, bad, ignored));
    }
  }
}

TEST_F(GpuInt8, AnotherLengthIsRefusedBeforeAnythingIsQueued) {
  DeviceArray<std::byte> bytes(Bytes(1000), stream());
  DeviceArray<float> values(std::vector<float>(100), stream());
  DeviceArray<std::uint32_t> malformed({7}, stream());
  for (const std::size_t length : {std::size_t{0}, std::size_t{103}, std::size_t{105}}) {
    const Result<void> decoded =
        cuda::decode_int8(values.data(), malformed.data(), bytes.data(), length, 100, 256, stream());
    ASSERT_FALSE(decoded);
    EXPECT_EQ(decoded.error().code, Errc::kMalformed);
  }
  EXPECT_EQ(malformed.read()[0], 7U);
}

}  // namespace
}  // namespace godwit
