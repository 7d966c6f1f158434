// The exact bytes of each codec for one small block. They lie in logs and travel between releases:
// a change here is a new codec with a new id, never an edit.
#include <gtest/gtest.h>

#include <limits>

#include "tests/unit/codec/block_samples.h"

namespace godwit {
namespace {

std::string hex(ByteView bytes) {
  constexpr char kDigits[] = "0123456789abcdef";
  std::string text;
  for (const std::byte byte : bytes) {
    text += kDigits[static_cast<unsigned>(byte) >> 4];
    text += kDigits[static_cast<unsigned>(byte) & 15];
  }
  return text;
}

Bytes from_hex(std::string_view text) {
  const auto digit = [](char c) { return c <= '9' ? c - '0' : c - 'a' + 10; };
  Bytes bytes;
  for (std::size_t i = 0; i + 1 < text.size(); i += 2) {
    bytes.push_back(static_cast<std::byte>(digit(text[i]) * 16 + digit(text[i + 1])));
  }
  return bytes;
}

// Zeros of both signs, a tie of bf16, denormal and largest values.
const std::vector<float> kBlock = {
    0.0F, -0.0F, 1.0F, -1.00390625F, 3.14159274F, 1e-40F, std::numeric_limits<float>::max()};

TEST(Golden, Fp32) {
  EXPECT_EQ(hex(encode_block({CodecId::kFp32, false}, kBlock)),
            "00000000000000800000803f008080bfdb0f4940c2160100ffff7f7f");
}

TEST(Golden, Bf16) {
  EXPECT_EQ(hex(encode_block({CodecId::kBf16, false}, kBlock)), "00000080803f80bf494001007f7f");
}

TEST(Golden, Int8) {
  const std::vector<float> small = {0.0F, -0.0F, 1.0F, -1.00390625F, 3.14159274F, 1e-40F, -0.5F};
  EXPECT_EQ(hex(encode_block({CodecId::kInt8, false}, small)), "00a5ca3c000028d77f00ec");
  // A second group: scales first, then all values.
  std::vector<float> two_groups(258, 0.0F);
  two_groups[0] = 127.0F;
  two_groups[256] = -254.0F;
  two_groups[257] = 3.0F;
  const std::string zeros(2 * 255, '0');
  EXPECT_EQ(hex(encode_block({CodecId::kInt8, false}, two_groups)),
            "0000803f000000407f" + zeros + "8102");
}

TEST(Golden, StoredBlockOfTheZstdStage) {
  EXPECT_EQ(hex(encode_block({CodecId::kFp32, true}, std::vector<float>{1.0F})), "000000803f");
}

// Compressed bytes may differ between releases of zstd; what they decode to may not. These are 64
// times {1, -2} as fp32, in four planes.
TEST(Golden, CompressedBlockOfTheZstdStage) {
  std::vector<float> expected(128);
  for (std::size_t i = 0; i < expected.size(); ++i) expected[i] = i % 2 == 0 ? 1.0F : -2.0F;
  const Bytes block = from_hex("0128b52ffd6000018d0000280000803fc003001ba4c87329db53a00d");
  EXPECT_EQ(decode_or_fail({CodecId::kFp32, true}, block, expected.size()), expected);
}

}  // namespace
}  // namespace godwit
