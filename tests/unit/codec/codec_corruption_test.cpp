// Hostile bytes: no decoder crashes, writes beside its span, or allocates more than its block can
// need.
#include <gtest/gtest.h>

#include <algorithm>

#include "shared/tensor/kernels.h"
#include "tests/unit/codec/allocation_meter.h"
#include "tests/unit/codec/block_samples.h"

namespace godwit {
namespace {

constexpr std::size_t kMessageBytes = 1024;  // for the text of an error

// Decodes whatever the bytes are; the answer may be either, the limits hold anyway.
bool decode_within_limits(CodecSpec spec, const Bytes& bytes, std::size_t count) {
  std::vector<float> framed(count + 2, 42.0F);
  const auto values = std::span(framed).subspan(1, count);
  const AllocationMeter meter;
  const Result<void> decoded = decode_block(spec, bytes, values);
  // The planes and the elements made of them.
  EXPECT_LE(meter.requested_bytes(), 2 * max_block_bytes(spec, count) + kMessageBytes);
  EXPECT_EQ(framed.front(), 42.0F);
  EXPECT_EQ(framed.back(), 42.0F);
  if (!decoded) {
    EXPECT_EQ(decoded.error().code, Errc::kMalformed);
    EXPECT_FALSE(decoded.error().context.empty());
    return false;
  }
  // What was accepted is a block like any other.
  if (kernels::all_finite(values)) {
    const Bytes again = encode_block(spec, values);
    EXPECT_EQ(encode_block(spec, decode_or_fail(spec, again, count)), again);
  }
  return true;
}

Bytes damage(Bytes bytes, Random& random) {
  const auto any_byte = [&random] { return static_cast<std::byte>(random.next()); };
  switch (random.below(4)) {
    case 0:  // flip bits
      for (std::uint64_t i = 0; i <= random.below(4) && !bytes.empty(); ++i) {
        bytes[random.below(bytes.size())] ^= static_cast<std::byte>(1U << random.below(8));
      }
      break;
    case 1:  // overwrite a run
      if (!bytes.empty()) {
        const std::size_t at = random.below(bytes.size());
        const std::size_t end = std::min(bytes.size(), at + 1 + random.below(16));
        std::generate(bytes.begin() + static_cast<std::ptrdiff_t>(at),
                      bytes.begin() + static_cast<std::ptrdiff_t>(end), any_byte);
      }
      break;
    case 2:  // cut
      bytes.resize(random.below(bytes.size() + 1));
      break;
    default:  // extend
      for (std::uint64_t i = 0; i <= random.below(16); ++i) bytes.push_back(any_byte());
  }
  return bytes;
}

class CorruptBlock : public testing::TestWithParam<CodecSpec> {};

INSTANTIATE_TEST_SUITE_P(Table, CorruptBlock, testing::ValuesIn(all_specs()), [](const auto& info) {
  std::string name = to_string(info.param);
  std::replace(name.begin(), name.end(), '+', '_');
  return name;
});

TEST_P(CorruptBlock, DamageNeverCrashesNorAllocatesMoreThanTheBound) {
  Random random(19);
  for (const BlockSample& sample : block_samples()) {
    SCOPED_TRACE(sample.name);
    const Bytes bytes = encode_block(GetParam(), sample.values);
    ASSERT_TRUE(decode_within_limits(GetParam(), bytes, sample.values.size()));
    for (int i = 0; i < 100; ++i) {
      decode_within_limits(GetParam(), damage(damage(bytes, random), random), sample.values.size());
    }
    if (HasFailure()) return;
  }
}

TEST_P(CorruptBlock, EveryTruncationAndEveryExtensionIsRefused) {
  const std::vector<float> values(300, 0.5F);
  const Bytes bytes = encode_block(GetParam(), values);
  for (std::size_t length = 0; length < bytes.size(); ++length) {
    const Bytes cut(bytes.begin(), bytes.begin() + static_cast<std::ptrdiff_t>(length));
    ASSERT_FALSE(decode_within_limits(GetParam(), cut, values.size())) << length;
  }
  Bytes extended = bytes;
  extended.push_back(std::byte{0});
  EXPECT_FALSE(decode_within_limits(GetParam(), extended, values.size()));
}

TEST_P(CorruptBlock, RandomBytesNeverCrash) {
  Random random(23);
  for (int i = 0; i < 3000; ++i) {
    Bytes bytes(random.below(600));
    for (std::byte& byte : bytes) byte = static_cast<std::byte>(random.next());
    if (!bytes.empty() && random.chance(0.5)) bytes[0] = std::byte{1};
    decode_within_limits(GetParam(), bytes, random.below(300));
  }
}

Bytes from_numbers(std::initializer_list<int> numbers) {
  Bytes bytes;
  for (const int number : numbers) bytes.push_back(static_cast<std::byte>(number));
  return bytes;
}

constexpr CodecSpec kZstd{CodecId::kFp32, true};

TEST(ZstdBomb, AFrameOfALargerBlockIsRefusedBeforeAnyAllocation) {
  for (const std::size_t larger : {1024, 1 << 20}) {
    const Bytes bomb = encode_block(kZstd, std::vector<float>(larger));
    ASSERT_LT(bomb.size(), 4096U);
    std::vector<float> values(16);
    const AllocationMeter meter;
    ASSERT_FALSE(decode_block(kZstd, bomb, values));
    EXPECT_LE(meter.requested_bytes(), kMessageBytes);
  }
}

TEST(ZstdBomb, AHugeStatedSizeIsRefusedBeforeAnyAllocation) {
  // magic, "8-byte size, single segment", 2^56 bytes, an empty last block
  const Bytes bomb =
      from_numbers({1, 0x28, 0xB5, 0x2F, 0xFD, 0xE0, 0, 0, 0, 0, 0, 0, 0, 1, 1, 0, 0});
  std::vector<float> values(16);
  const AllocationMeter meter;
  ASSERT_FALSE(decode_block(kZstd, bomb, values));
  EXPECT_LE(meter.requested_bytes(), kMessageBytes);
}

TEST(ZstdBomb, AFrameWithoutASizeIsRefused) {
  // magic, "no size", 1 KiB window, one raw last block of 4 bytes: a valid frame of 4 bytes
  const Bytes frame = from_numbers({1, 0x28, 0xB5, 0x2F, 0xFD, 0, 0, 0x21, 0, 0, 1, 2, 3, 4});
  EXPECT_FALSE(decode_within_limits(kZstd, frame, 1));
}

TEST(ZstdBomb, RunLengthBlocksCannotGrowPastTheStatedSize) {
  // magic, "1-byte size, single segment", 4 bytes stated, a last block of 2^17 - 1 repeated bytes
  const Bytes frame = from_numbers({1, 0x28, 0xB5, 0x2F, 0xFD, 0x20, 4, 0xFB, 0xFF, 0x0F, 7});
  EXPECT_FALSE(decode_within_limits(kZstd, frame, 1));
}

TEST(ZstdBomb, SkippableAndSecondFramesAreRefused) {
  const std::vector<float> values(300, 0.5F);
  const Bytes block = encode_block(kZstd, values);
  ASSERT_EQ(block[0], std::byte{1});
  const Bytes skippable = from_numbers({0x50, 0x2A, 0x4D, 0x18, 0, 0, 0, 0});
  Bytes before = from_numbers({1});
  before.insert(before.end(), skippable.begin(), skippable.end());
  EXPECT_FALSE(decode_within_limits(kZstd, before, 0));
  before.insert(before.end(), block.begin() + 1, block.end());
  EXPECT_FALSE(decode_within_limits(kZstd, before, values.size()));
  Bytes after = block;
  after.insert(after.end(), skippable.begin(), skippable.end());
  EXPECT_FALSE(decode_within_limits(kZstd, after, values.size()));
}

TEST(ZstdStage, AnUnknownLeadingByteIsRefused) {
  Bytes block = encode_block(kZstd, std::vector<float>(4, 1.0F));
  block[0] = std::byte{2};
  EXPECT_FALSE(decode_within_limits(kZstd, block, 4));
  EXPECT_FALSE(decode_within_limits(kZstd, {}, 0));
}

}  // namespace
}  // namespace godwit
