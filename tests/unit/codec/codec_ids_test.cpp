#include "shared/codec/codec_ids.h"

#include <gtest/gtest.h>

#include <set>

#include "tests/unit/codec/block_samples.h"

namespace godwit {
namespace {

TEST(CodecIds, EverySpecParsesBackFromItsName) {
  for (const CodecSpec spec : all_specs()) {
    const Result<CodecSpec> parsed = parse_codec(to_string(spec));
    ASSERT_TRUE(parsed) << to_string(spec);
    EXPECT_EQ(*parsed, spec);
  }
  EXPECT_EQ(to_string({CodecId::kInt8, true}), "int8+zstd");
}

TEST(CodecIds, AnUnknownNameListsTheKnownOnes) {
  for (const char* text :
       {"int4", "", "+zstd", "INT8", "int8+", "int8+zstd+zstd", " int8", "none"}) {
    const Result<CodecSpec> parsed = parse_codec(text);
    ASSERT_FALSE(parsed) << text;
    EXPECT_EQ(parsed.error().code, Errc::kConfig);
    for (const char* part : {text, "fp32", "bf16", "int8", "+zstd"}) {
      EXPECT_NE(parsed.error().context.find(part), std::string::npos) << parsed.error().context;
    }
  }
}

TEST(CodecIds, EveryWireByteSurvives) {
  for (int byte = 0; byte < 256; ++byte) {
    EXPECT_EQ(CodecSpec::from_wire(static_cast<std::uint8_t>(byte)).wire(), byte);
  }
}

TEST(CodecIds, EverySpecHasANameForLogs) {
  EXPECT_EQ(to_string({CodecId::kNone, false}), "none");
  EXPECT_EQ(to_string(CodecSpec::from_wire(0xFF)), "codec-127+zstd");
}

TEST(CodecTable, IdsAndNamesAreUniqueAndFitTheWire) {
  std::set<CodecId> ids = {CodecId::kNone};
  std::set<std::string_view> names = {"none"};
  for (const Codec* codec : CodecTable::standard().all()) {
    EXPECT_TRUE(ids.insert(codec->id()).second) << codec->name();
    EXPECT_TRUE(names.insert(codec->name()).second) << codec->name();
    EXPECT_LT(static_cast<unsigned>(codec->id()), 0x80U);
    EXPECT_EQ(*CodecTable::standard().find(codec->id()), codec);
  }
}

TEST(CodecTable, AnUnknownIdIsAnOrdinaryError) {
  for (const std::uint8_t byte : {0x00, 0x7F, 0x80, 0xFF}) {
    const CodecSpec spec = CodecSpec::from_wire(byte);
    std::vector<float> values(4);
    const Result<void> decoded = decode_block(spec, Bytes(16), values);
    ASSERT_FALSE(decoded);
    EXPECT_EQ(decoded.error().code, Errc::kUnsupported);
    EXPECT_EQ(max_block_bytes(spec, 4), 0U);
  }
}

}  // namespace
}  // namespace godwit
