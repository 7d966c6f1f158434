#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <bit>
#include <set>
#include <vector>

#include "shared/tensor/kernels.h"

namespace godwit {
namespace {

using Words = std::vector<std::uint32_t>;

std::vector<float> floats(const Words& words) {
  std::vector<float> values;
  for (const std::uint32_t word : words) values.push_back(std::bit_cast<float>(word));
  return values;
}

Hash changed(Hash hash, std::uint64_t change) { return Hash(hash.value() + change); }

RC_GTEST_PROP(BlockHash, IncrementalEqualsFullRehash, (const Words& before)) {
  Words after = before;
  for (std::uint32_t& word : after) {
    if (*rc::gen::arbitrary<bool>()) word = *rc::gen::arbitrary<std::uint32_t>();
  }
  const auto old_values = floats(before);
  const auto new_values = floats(after);
  RC_ASSERT(changed(kernels::block_hash(old_values),
                    kernels::block_hash_change(old_values, new_values)) ==
            kernels::block_hash(new_values));
}

RC_GTEST_PROP(BlockHash, OneFlippedBitIsSeen, (const Words& words)) {
  RC_PRE(!words.empty());
  Words other = words;
  other[*rc::gen::inRange<std::size_t>(0, words.size())] ^= 1U << *rc::gen::inRange(0, 32);
  RC_ASSERT(kernels::block_hash(floats(words)) != kernels::block_hash(floats(other)));
}

RC_GTEST_PROP(BlockHash, APermutationIsSeen, (const Words& words)) {
  RC_PRE(words.size() >= 2);
  const auto i = *rc::gen::inRange<std::size_t>(0, words.size());
  const auto j = *rc::gen::inRange<std::size_t>(0, words.size());
  RC_PRE(words[i] != words[j]);
  Words other = words;
  std::swap(other[i], other[j]);
  RC_ASSERT(kernels::block_hash(floats(words)) != kernels::block_hash(floats(other)));
}

TEST(BlockHash, EmptyIsZeroAndZerosOfEachLengthDiffer) {
  EXPECT_EQ(kernels::block_hash({}), Hash(0));
  std::set<std::uint64_t> seen = {0};
  for (std::size_t length = 1; length < 100; ++length) {
    EXPECT_TRUE(seen.insert(kernels::block_hash(std::vector<float>(length, 0.0F)).value()).second)
        << length;
  }
}

TEST(BlockHash, NegativeZeroIsNotZero) {
  EXPECT_NE(kernels::block_hash(std::vector<float>{0.0F}),
            kernels::block_hash(std::vector<float>{-0.0F}));
}

TEST(BlockHash, SmallBlocksDoNotCollide) {
  std::set<std::uint64_t> seen;
  for (std::uint32_t a = 0; a < 200; ++a) {
    for (std::uint32_t b = 0; b < 200; ++b)
      seen.insert(kernels::block_hash(floats({a, b})).value());
  }
  EXPECT_EQ(seen.size(), 200U * 200U);
}

// Logged and compared between regions: these numbers may never change.
TEST(BlockHash, GoldenValues) {
  EXPECT_EQ(kernels::block_hash(std::vector<float>{0.0F}).value(), 0xE220A8397B1DCDAFULL);
  EXPECT_EQ(kernels::block_hash(std::vector<float>{1.0F, -2.5F, 1e-40F}).value(),
            0xEAAFF08546399255ULL);
}

}  // namespace
}  // namespace godwit
