#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <numeric>

#include "shared/protocol/manifest.h"
#include "tests/unit/protocol/generators.h"

namespace godwit {
namespace {

std::vector<Block> all_blocks(const Layout& layout) {
  std::vector<Block> blocks;
  for (const ShardLayout& shard : layout.shards) {
    blocks.insert(blocks.end(), shard.blocks.begin(), shard.blocks.end());
  }
  return blocks;
}

RC_GTEST_PROP(Layouts, BlocksCoverTheFlatVectorInOrder, ()) {
  const Manifest manifest = generate::manifest();
  const Layout layout(manifest);
  std::uint64_t next = 0;
  bool exact_seen = false;
  for (const Block& block : all_blocks(layout)) {
    RC_ASSERT(block.offset == next);
    RC_ASSERT(block.count > 0U);
    RC_ASSERT(block.count <= manifest.block_parameters);
    RC_ASSERT(block.exact || !exact_seen);
    exact_seen = exact_seen || block.exact;
    next += block.count;
  }
  RC_ASSERT(next == layout.parameters);
}

RC_GTEST_PROP(Layouts, TensorsLieInBlocksOfTheirClassWithoutGaps, ()) {
  const Manifest manifest = generate::manifest();
  const Layout layout(manifest);
  std::vector<int> owners(layout.parameters, 0);
  std::vector<bool> exact(layout.parameters);
  for (const Block& block : all_blocks(layout)) {
    for (std::uint32_t i = 0; i < block.count; ++i) exact[block.offset + i] = block.exact;
  }
  std::uint64_t last_offset[2] = {0, 0};
  for (std::size_t t = 0; t < layout.tensors.size(); ++t) {
    const TensorPlace& place = layout.tensors[t];
    const bool is_exact = manifest.tensors[t].exact;
    RC_ASSERT(place.count == manifest.tensors[t].count());
    RC_ASSERT(place.offset >= last_offset[is_exact]);  // manifest order inside a class
    last_offset[is_exact] = place.offset;
    for (std::uint64_t i = place.offset; i < place.offset + place.count; ++i) {
      ++owners[i];
      RC_ASSERT(exact[i] == is_exact);
    }
  }
  for (const int count : owners) RC_ASSERT(count == 1);
}

RC_GTEST_PROP(Layouts, ShardsAreContiguousAndBalanced, ()) {
  const Manifest manifest = generate::manifest();
  const Layout layout(manifest);
  RC_ASSERT(layout.shards.size() == manifest.shards);
  std::uint64_t next = 0;
  for (const ShardLayout& shard : layout.shards) {
    RC_ASSERT(!shard.blocks.empty());
    RC_ASSERT(shard.offset == next);
    RC_ASSERT(shard.offset == shard.blocks.front().offset);
    const auto sum = std::accumulate(
        shard.blocks.begin(), shard.blocks.end(), std::uint64_t{0},
        [](std::uint64_t total, const Block& block) { return total + block.count; });
    RC_ASSERT(shard.parameters == sum);
    RC_ASSERT(sum <= layout.parameters / manifest.shards + manifest.block_parameters + 1);
    next += sum;
  }
  RC_ASSERT(next == layout.parameters);
}

// Layout decides which bytes lie where on disk: it may never change for an existing manifest.
TEST(Layouts, AWorkedExample) {
  Manifest manifest;
  manifest.block_parameters = 4;
  manifest.shards = 2;
  manifest.tensors = {
      {"norm", {3}, true}, {"a", {2, 3}, false}, {"bias", {2}, true}, {"b", {4}, false}};
  const Layout layout(manifest);
  EXPECT_EQ(layout.parameters, 15U);
  EXPECT_EQ(layout.tensors[1].offset, 0U);
  EXPECT_EQ(layout.tensors[3].offset, 6U);
  EXPECT_EQ(layout.tensors[0].offset, 10U);
  EXPECT_EQ(layout.tensors[2].offset, 13U);
  ASSERT_EQ(layout.shards.size(), 2U);  // blocks: 4 4 2 | exact 4 1; half of 15 is nearest to 8
  EXPECT_EQ(layout.shards[0].parameters, 8U);
  EXPECT_EQ(layout.shards[1].parameters, 7U);
  ASSERT_EQ(layout.shards[1].blocks.size(), 3U);
  EXPECT_EQ(layout.shards[1].blocks[0].count, 2U);
  EXPECT_FALSE(layout.shards[1].blocks[0].exact);
  EXPECT_EQ(layout.shards[1].blocks[1].offset, 10U);
  EXPECT_TRUE(layout.shards[1].blocks[1].exact);
  EXPECT_EQ(layout.shards[1].blocks[2].count, 1U);
}

}  // namespace
}  // namespace godwit
