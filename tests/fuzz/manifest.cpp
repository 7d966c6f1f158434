// Manifests, and the layout of those that are small enough to lay out a thousand times a second.
#include "shared/protocol/manifest.h"

#include "tests/fuzz/targets.h"

namespace godwit::fuzz {
namespace {

constexpr std::uint64_t kBlocksMax = 1U << 12;

void check_layout(const Manifest& manifest) {
  const Layout layout(manifest);
  GODWIT_CHECK(layout.shards.size() == manifest.shards, "as many shards as were asked for");
  std::uint64_t next = 0;
  for (const ShardLayout& shard : layout.shards) {
    GODWIT_CHECK(shard.offset == next && !shard.blocks.empty(), "shards follow one another");
    for (const Block& block : shard.blocks) {
      GODWIT_CHECK(block.offset == next && block.count > 0, "blocks follow one another");
      GODWIT_CHECK(block.count <= manifest.block_parameters, "a block keeps its size");
      next += block.count;
    }
    GODWIT_CHECK(next == shard.offset + shard.parameters, "blocks add up to their shard");
  }
  GODWIT_CHECK(next == layout.parameters, "shards add up to the model");
}

}  // namespace

bool manifest(ByteView input) {
  const auto manifest = Manifest::decode(input);
  if (!manifest) return false;
  GODWIT_CHECK(manifest->encode() == copy(input), "a manifest has one encoding");
  GODWIT_CHECK(manifest->first_difference(*manifest).empty(), "a manifest equals itself");
  std::uint64_t parameters = 0;
  for (const ManifestTensor& tensor : manifest->tensors) parameters += tensor.count();
  if (parameters / manifest->block_parameters < kBlocksMax) check_layout(*manifest);
  return true;
}

}  // namespace godwit::fuzz
