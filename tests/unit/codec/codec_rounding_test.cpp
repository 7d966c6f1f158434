// How bf16 and int8 round, at every edge, and what int8 refuses to decode.
#include <gtest/gtest.h>

#include <bit>
#include <cfenv>
#include <cmath>
#include <limits>

#include "tests/unit/codec/block_samples.h"

namespace godwit {
namespace {

using Limits = std::numeric_limits<float>;
constexpr CodecSpec kBf16{CodecId::kBf16, false};
constexpr CodecSpec kInt8{CodecId::kInt8, false};

float through(CodecSpec spec, float value) {
  const std::vector<float> values = {value};
  return decode_or_fail(spec, encode_block(spec, values), 1).at(0);
}

std::uint32_t bits_through_bf16(std::uint32_t bits) {
  return std::bit_cast<std::uint32_t>(through(kBf16, std::bit_cast<float>(bits)));
}

TEST(Bf16, EveryFiniteHalfIsKeptAndItsNeighbourhoodRoundsToNearestEven) {
  for (std::uint32_t half = 0; half < 0x10000; ++half) {
    if ((half & 0x7F80) == 0x7F80) continue;  // NaN and infinity
    const std::uint32_t exact = half << 16;
    const std::uint32_t above = (half & 0x7FFF) == 0x7F7F ? exact : exact + 0x10000;
    ASSERT_EQ(bits_through_bf16(exact), exact);
    ASSERT_EQ(bits_through_bf16(exact | 0x7FFF), exact);
    ASSERT_EQ(bits_through_bf16(exact | 0x8000), half % 2 == 0 ? exact : above);
    ASSERT_EQ(bits_through_bf16(exact | 0x8001), above);
    ASSERT_EQ(bits_through_bf16(exact | 0xFFFF), above);
  }
}

TEST(Bf16, NanAndInfinityStayVisible) {
  EXPECT_EQ(through(kBf16, Limits::infinity()), Limits::infinity());
  EXPECT_EQ(through(kBf16, -Limits::infinity()), -Limits::infinity());
  EXPECT_TRUE(std::isnan(through(kBf16, Limits::quiet_NaN())));
  EXPECT_TRUE(std::isnan(through(kBf16, std::bit_cast<float>(0x7F800001U))));
  EXPECT_TRUE(std::isnan(through(kBf16, std::bit_cast<float>(0xFFFFFFFFU))));
}

// The obvious int8: the scale found in the bytes, division in double, the rounding of the C
// library.
TEST(Int8, QuantizesToTheNearestIntegerTiesToEven) {
  ASSERT_EQ(std::fegetround(), FE_TONEAREST);
  Random random(13);
  for (int round = 0; round < 2000; ++round) {
    std::vector<float> values(256);
    for (float& value : values) value = static_cast<float>(random.normal());
    const Bytes bytes = encode_block(kInt8, values);
    float scale = 0;
    std::memcpy(&scale, bytes.data(), sizeof(scale));
    for (std::size_t i = 0; i < values.size(); ++i) {
      const int q = static_cast<std::int8_t>(bytes[4 + i]);
      ASSERT_EQ(q, static_cast<int>(std::nearbyint(values[i] / scale)))
          << values[i] << " by " << scale;
      ASSERT_GE(q, -127);
    }
  }
}

TEST(Int8, TiesGoToEven) {
  const std::vector<float> values = {127.0F, 0.5F, 1.5F, 2.5F, -0.5F, -1.5F, -2.5F};
  const std::vector<float> expected = {127, 0, 2, 2, 0, -2, -2};
  EXPECT_EQ(decode_or_fail(kInt8, encode_block(kInt8, values), values.size()), expected);
}

// The law that replicas rely on, for the largest magnitude of a group anywhere in fp32.
TEST(Int8, EveryLargestMagnitudeFindsItsScaleAgain) {
  const auto check = [](std::uint32_t bits) {
    const std::vector<float> values = {std::bit_cast<float>(bits)};
    const Bytes bytes = encode_block(kInt8, values);
    const auto decoded = decode_or_fail(kInt8, bytes, 1);
    ASSERT_TRUE(std::isfinite(decoded.at(0)));
    ASSERT_EQ(encode_block(kInt8, decoded), bytes) << std::hexfloat << values[0];
  };
  Random random(17);
  for (int i = 0; i < 200000 && !HasFailure(); ++i) {
    check(std::bit_cast<std::uint32_t>(finite_float(random)));
  }
  const std::uint32_t edges[] = {std::bit_cast<std::uint32_t>(127 * Limits::min()),
                                 std::bit_cast<std::uint32_t>(Limits::min()),
                                 std::bit_cast<std::uint32_t>(127.0F), 0x7F7FFFFF - 1000};
  for (const std::uint32_t edge : edges) {
    for (std::uint32_t bits = edge - 1000; bits <= edge + 1000 && !HasFailure(); ++bits) {
      check(bits);
    }
  }
}

TEST(Int8, AGroupTooSmallForANormalScaleBecomesZeros) {
  EXPECT_EQ(through(kInt8, 126.9F * Limits::min()), 0.0F);
  EXPECT_EQ(through(kInt8, 127 * Limits::min()), 127 * Limits::min());
  EXPECT_EQ(encode_block(kInt8, std::vector<float>{Limits::denorm_min()}), Bytes(5));
}

TEST(Int8, DecodingNeverGivesADenormal) {
  for (const BlockSample& sample : block_samples()) {
    for (const float value :
         decode_or_fail(kInt8, encode_block(kInt8, sample.values), sample.values.size())) {
      ASSERT_TRUE(value == 0 || std::isnormal(value)) << sample.name << ": " << value;
    }
  }
}

Bytes one_value(std::uint32_t scale_bits, int q) {
  Bytes bytes(5);
  std::memcpy(bytes.data(), &scale_bits, sizeof(scale_bits));
  bytes[4] = static_cast<std::byte>(q);
  return bytes;
}

bool refuses(const Bytes& bytes) {
  float value = 0;
  const Result<void> decoded = decode_block(kInt8, bytes, std::span(&value, 1));
  return !decoded && decoded.error().code == Errc::kMalformed;
}

TEST(Int8, RefusesWhatNoEncoderWrites) {
  EXPECT_FALSE(refuses(one_value(std::bit_cast<std::uint32_t>(1.0F), -127)));
  EXPECT_TRUE(refuses(one_value(std::bit_cast<std::uint32_t>(1.0F), -128)));
  for (const float scale :
       {Limits::quiet_NaN(), -Limits::quiet_NaN(), Limits::infinity(), -Limits::infinity(), -1.0F,
        -0.0F, Limits::denorm_min(), Limits::max(), 0.1F /* more than 17 significant bits */}) {
    EXPECT_TRUE(refuses(one_value(std::bit_cast<std::uint32_t>(scale), 1))) << scale;
  }
}

TEST(Int8, NanAndInfinityNeverDecode) {
  for (const float bad : {Limits::quiet_NaN(), Limits::infinity(), -Limits::infinity(),
                          std::bit_cast<float>(0x7FFFFFFFU), std::bit_cast<float>(0xFFFFFFFFU)}) {
    std::vector<float> values(300, 1.0F);
    values[270] = bad;
    const Result<void> decoded = decode_block(kInt8, encode_block(kInt8, values), values);
    EXPECT_FALSE(decoded) << bad;
  }
}

}  // namespace
}  // namespace godwit
