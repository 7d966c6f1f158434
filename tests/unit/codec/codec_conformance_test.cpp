// What holds for every codec of the table, with and without zstd. A new codec adds a row to
// error_bound().
#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <algorithm>
#include <bit>
#include <cmath>

#include "shared/tensor/kernels.h"
#include "tests/unit/codec/block_samples.h"

namespace godwit {
namespace {

// The stated bound on |decoded - value| for a value of a group (256 values) whose largest magnitude
// is `largest`.
double error_bound(CodecId id, double value, double largest) {
  switch (id) {
    case CodecId::kFp32:
      return 0;
    case CodecId::kBf16:
      return std::max(std::abs(value) * 0x1p-8, 0x1p-134);
    case CodecId::kInt8:
      return largest < 127 * 0x1p-126 ? largest : largest / 254 * (1 + 0x1p-15);
    case CodecId::kNone:
      break;
  }
  ADD_FAILURE() << "state the error bound of codec " << static_cast<int>(id);
  return 0;
}

void expect_within_bound(CodecId id, const std::vector<float>& values,
                         const std::vector<float>& decoded) {
  ASSERT_EQ(values.size(), decoded.size());
  for (std::size_t i = 0; i < values.size(); ++i) {
    const auto first = values.begin() + static_cast<std::ptrdiff_t>(i / 256 * 256);
    const auto last =
        values.begin() + static_cast<std::ptrdiff_t>(std::min(i / 256 * 256 + 256, values.size()));
    double largest = 0;
    for (auto at = first; at != last; ++at) largest = std::max(largest, std::abs(double{*at}));
    const double bound = error_bound(id, values[i], largest);
    ASSERT_LE(std::abs(double{decoded[i]} - double{values[i]}), bound)
        << values[i] << " became " << decoded[i] << " at " << i;
  }
}

void expect_same_bits(std::span<const float> left, std::span<const float> right) {
  ASSERT_TRUE(std::ranges::equal(std::as_bytes(left), std::as_bytes(right)));
}

class EveryCodec : public testing::TestWithParam<CodecSpec> {
 protected:
  template <class Body>
  void on_all_samples(Body body) {
    for (const BlockSample& sample : block_samples()) {
      SCOPED_TRACE(sample.name);
      body(sample.values);
      if (HasFatalFailure()) return;
    }
  }
};

INSTANTIATE_TEST_SUITE_P(Table, EveryCodec, testing::ValuesIn(all_specs()), [](const auto& info) {
  std::string name = to_string(info.param);
  std::replace(name.begin(), name.end(), '+', '_');
  return name;
});

TEST_P(EveryCodec, RoundTripStaysWithinItsBoundAndFinite) {
  on_all_samples([](const std::vector<float>& values) {
    const auto decoded =
        decode_or_fail(GetParam(), encode_block(GetParam(), values), values.size());
    expect_within_bound(GetParam().id, values, decoded);
    ASSERT_TRUE(kernels::all_finite(decoded));
  });
}

TEST_P(EveryCodec, EncodingADecodedBlockGivesTheSameBytes) {
  on_all_samples([](const std::vector<float>& values) {
    const Bytes bytes = encode_block(GetParam(), values);
    ASSERT_EQ(encode_block(GetParam(), decode_or_fail(GetParam(), bytes, values.size())), bytes);
  });
}

TEST_P(EveryCodec, NeverExceedsMaxBlockBytes) {
  on_all_samples([](const std::vector<float>& values) {
    ASSERT_LE(encode_block(GetParam(), values).size(), max_block_bytes(GetParam(), values.size()));
  });
}

TEST_P(EveryCodec, EncodeAppendsAndLeavesWhatWasThere) {
  const Codec& codec = **CodecTable::standard().find(GetParam().id);
  on_all_samples([&codec](const std::vector<float>& values) {
    Bytes alone;
    codec.encode(values, alone);
    ASSERT_LE(alone.size(), codec.max_encoded_bytes(values.size()));
    Bytes out(3, std::byte{0x5A});
    codec.encode(values, out);
    Bytes expected(3, std::byte{0x5A});
    expected.insert(expected.end(), alone.begin(), alone.end());
    ASSERT_EQ(out, expected);
  });
}

TEST_P(EveryCodec, DecodeWritesItsSpanAndNothingBeside) {
  on_all_samples([](const std::vector<float>& values) {
    const Bytes bytes = encode_block(GetParam(), values);
    std::vector<float> framed(values.size() + 2, 42.0F);
    ASSERT_TRUE(decode_block(GetParam(), bytes, std::span(framed).subspan(1, values.size())));
    ASSERT_EQ(framed.front(), 42.0F);
    ASSERT_EQ(framed.back(), 42.0F);
    expect_same_bits(std::span(framed).subspan(1, values.size()),
                     decode_or_fail(GetParam(), bytes, values.size()));
  });
}

TEST_P(EveryCodec, DecodesBytesAndFloatsAtAnyAlignment) {
  on_all_samples([](const std::vector<float>& values) {
    const Bytes bytes = encode_block(GetParam(), values);
    Bytes shifted(1);
    shifted.insert(shifted.end(), bytes.begin(), bytes.end());
    expect_same_bits(decode_or_fail(GetParam(), ByteView(shifted).subspan(1), values.size()),
                     decode_or_fail(GetParam(), bytes, values.size()));
  });
}

TEST_P(EveryCodec, ABlockOfAnotherLengthIsMalformed) {
  on_all_samples([](const std::vector<float>& values) {
    const Bytes bytes = encode_block(GetParam(), values);
    std::vector<float> longer(values.size() + 1);
    const Result<void> decoded = decode_block(GetParam(), bytes, longer);
    ASSERT_FALSE(decoded);
    ASSERT_EQ(decoded.error().code, Errc::kMalformed);
  });
}

// Blocks of several groups whose values spread over a random range of exponents.
TEST_P(EveryCodec, RandomBlocksAreStableAndWithinTheBound) {
  Random random(11);
  for (int round = 0; round < 300; ++round) {
    const int top = static_cast<int>(random.below(278)) - 149;
    const int spread = 1 + static_cast<int>(random.below(40));
    std::vector<float> values(1 + random.below(700));
    for (float& value : values) {
      const double mantissa = random.uniform() * (random.chance(0.5) ? 1 : -1);
      value = static_cast<float>(std::ldexp(
          mantissa, top - static_cast<int>(random.below(static_cast<std::uint64_t>(spread)))));
    }
    const Bytes bytes = encode_block(GetParam(), values);
    const auto decoded = decode_or_fail(GetParam(), bytes, values.size());
    expect_within_bound(GetParam().id, values, decoded);
    ASSERT_EQ(encode_block(GetParam(), decoded), bytes) << "round " << round;
  }
}

RC_GTEST_PROP(Codecs, AnyFiniteBlockIsStableAndWithinTheBound, (std::vector<std::uint32_t> words)) {
  std::vector<float> values;
  for (const std::uint32_t word : words) {
    const float value = std::bit_cast<float>(word);
    values.push_back(std::isfinite(value) ? value : std::bit_cast<float>(word & 0xBFFFFFFF));
  }
  for (const CodecSpec spec : all_specs()) {
    const Bytes bytes = encode_block(spec, values);
    RC_ASSERT(bytes.size() <= max_block_bytes(spec, values.size()));
    const auto decoded = decode_or_fail(spec, bytes, values.size());
    expect_within_bound(spec.id, values, decoded);
    RC_ASSERT(encode_block(spec, decoded) == bytes);
  }
}

TEST(ZstdStage, ShrinksWhatHasStructure) {
  std::vector<float> values(std::size_t{1} << 16);
  Random random(3);
  for (float& value : values) value = static_cast<float>(random.normal()) * 1e-3F;
  for (const CodecId id : {CodecId::kFp32, CodecId::kBf16}) {
    const std::size_t plain = encode_block({id, false}, values).size();
    const std::size_t shrunk = encode_block({id, true}, values).size();
    EXPECT_LT(static_cast<double>(shrunk), 0.9 * static_cast<double>(plain))
        << to_string({id, true});
  }
}

TEST(ZstdStage, StoresWhatItCannotShrinkAtTheCostOfOneByte) {
  Random random(5);
  std::vector<float> values(1000);
  for (float& value : values) value = finite_float(random);
  const Bytes plain = encode_block({CodecId::kFp32, false}, values);
  const Bytes stored = encode_block({CodecId::kFp32, true}, values);
  ASSERT_EQ(stored.size(), plain.size() + 1);
  EXPECT_EQ(stored.front(), std::byte{0});
  EXPECT_TRUE(std::equal(plain.begin(), plain.end(), stored.begin() + 1));
}

}  // namespace
}  // namespace godwit
