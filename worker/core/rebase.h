// Rebase: local training is to the shared model what local commits are to a branch (design, section 6).
//
//   anchor A = P at a version; theta = the parameters being trained; q = A - theta as it was pushed
//   version without my push   theta += A' - A        A = A'
//   version naming my push    theta += A' - A + q    A = A'     once per push, applied or refused
//   no step since the push    theta  = A'                       so that nothing drifts by rounding
//   truncated version         the first rule with A' = A*: progress is kept on the reloaded anchor
//   restored checkpoint       theta  = A', q = 0            progress on the model that is gone goes with it
#pragma once

#include <optional>
#include <vector>

#include "shared/protocol/manifest.h"
#include "shared/protocol/messages.h"
#include "worker/core/parameters.h"

namespace godwit {

// A push that no version has named yet.
struct PendingPush {
  Push push;                     // the bytes, until acknowledged
  std::vector<float> q;          // whole and unscaled
  bool acknowledged = false;
  std::uint32_t steps_since = 0; // optimizer steps after it was made
};

// One shard of the model as a worker holds it.
class ShardView {
 public:
  ShardView(ShardId shard, ShardLayout layout)
      : shard_(shard), layout_(std::move(layout)), anchor_(layout_.parameters, 0.0F) {}

  ShardId shard() const { return shard_; }
  const ShardLayout& layout() const { return layout_; }
  const EntryHeader& head() const { return head_; }  // of the anchor's version; zeros before the first
  Hash head_hash() const { return head_hash_; }
  std::span<const float> anchor() const { return anchor_; }
  std::optional<PendingPush>& pending() { return pending_; }
  const std::optional<PendingPush>& pending() const { return pending_; }

  // What the anchor is away from theta: q of a push made now.
  std::vector<float> progress(const Parameters& theta) const;

  struct Merged {
    bool changed = false;              // theta changed
    std::optional<NamedPush> named;    // the pending push was named: it is no longer pending
    double staleness_rounds = 0;       // of that push
    bool restored = false;             // a checkpoint was restored: steps since the last push are void, too
  };
  // Entries (anchor, last]. Errors, changing nothing: kForked (does not extend the anchor), kCorrupt (a block
  // fails its hash), kMalformed.
  Result<Merged> merge(const std::vector<Entry>& entries, const Parameters& theta);
  // A whole state: first join, far behind, or after a truncation. `named` tells of the pending push.
  Result<Merged> replace(const Snapshot& snapshot, const std::optional<NamedPush>& named, const Parameters& theta);

 private:
  // To the anchor `next` of the entry `head`.
  void rebase(std::span<const float> next, const EntryHeader& head, Merged& merged, const Parameters& theta);

  ShardId shard_;
  ShardLayout layout_;
  std::vector<float> anchor_;
  EntryHeader head_;
  Hash head_hash_;
  std::optional<PendingPush> pending_;
};

}  // namespace godwit
