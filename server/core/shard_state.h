// ShardState: the log of one shard replayed so far, and the only arithmetic that changes it. The leader's
// commit, its recovery and every follower run the same functions, so equal entries give equal bytes.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "server/core/records.h"
#include "shared/protocol/entry.h"
#include "shared/protocol/manifest.h"

namespace godwit {

class ShardState {
  template <class Vector>
  auto slice(Vector& flat, std::uint32_t block) const {
    const Block& place = layout_.blocks[block];
    return std::span(flat).subspan(place.offset - layout_.offset, place.count);
  }

 public:
  ShardState(ShardId shard, ShardLayout layout, bool leader);

  ShardId shard() const { return shard_; }
  const ShardLayout& layout() const { return layout_; }
  std::uint32_t block_count() const { return static_cast<std::uint32_t>(layout_.blocks.size()); }
  Version version() const { return head_.version; }
  const EntryHeader& head() const { return head_; }  // of the last entry; all zero before the first
  const SharedBytes& head_encoded() const { return head_encoded_; }
  Hash head_hash() const { return head_hash_; }
  const records::Producers& producers() const { return producers_; }
  // A leader keeps the momentum, from zero on; a follower has none.
  void keep_velocity(bool keep);
  void zero_velocity(std::uint32_t block);
  bool keeps_velocity() const { return !velocity_.empty() || layout_.parameters == 0; }

  std::span<const float> values() const { return values_; }
  std::span<const float> values(std::uint32_t block) const { return slice(values_, block); }
  std::span<const float> velocity(std::uint32_t block) const;  // empty on followers
  Hash block_state(std::uint32_t block) const { return block_hashes_[block]; }
  // Recomputes the hash of a block from memory: what `verify` compares.
  Hash rehash(std::uint32_t block) const;

  // Leader: the outer step of one block. Reads every scalar from `scalars`, sums the contributions in their
  // order, steps, encodes the difference, and applies the decoded update to P. Returns the encoded update.
  // REQUIRES: a codec of the table. Errors: those of sum_contributions; kMalformed: the step left the range of the
  // codec. None of them happens to what was admitted; a damaged log is replayed, too.
  Result<Bytes> step_block(const EntryHeader& scalars, std::span<const Contribution> contributions, std::uint32_t block,
                   CodecSpec codec);
  // Everyone: P += D(update) for one block; a restore says P := D(update). Fails with kMalformed, changing nothing,
  // if it does not decode.
  Result<void> apply_block(EntryKind kind, std::uint32_t block, CodecSpec codec, ByteView update);
  // After all blocks: the entry is now the head; its producers are in the table.
  // Fails with kCorrupt if the replayed bytes differ from the hashes that the entry states.
  Result<void> advance(const Entry& entry);

  // Loading: a block at its own version, then the head (advance() for the rest of the log).
  void load_block(std::uint32_t block, std::span<const float> values, std::span<const float> velocity);
  void load_head(EntryHeader head, SharedBytes encoded, records::Producers producers);

 private:
  void set_values(std::uint32_t block, std::span<const float> next);

  ShardId shard_;
  ShardLayout layout_;
  std::vector<float> values_;
  std::vector<float> velocity_;
  std::vector<Hash> block_hashes_;
  EntryHeader head_;
  SharedBytes head_encoded_;
  Hash head_hash_;
  records::Producers producers_;
};

// Adds D(payload) of `block` of every contribution, in order, into `sum` (zeroed first).
// Errors: kMalformed, kUnsupported, kInvalid (not finite): names the contribution.
Result<void> sum_contributions(std::span<const Contribution> contributions, std::uint32_t block,
                               std::span<float> sum);

}  // namespace godwit
