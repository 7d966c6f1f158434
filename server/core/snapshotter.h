// Snapshotter: fuzzy block snapshots. A block is copied at its current version and written once the watermark
// reaches that version, so a snapshot trickles and never stops a commit; recovery replays each block from its
// own version. A complete snapshot lets older ones, the log and the inputs below it go (see Retention).
#pragma once

#include <optional>

#include "server/core/retention.h"
#include "server/core/shard_state.h"

namespace godwit {

class Snapshotter {
 public:
  Snapshotter(const RunSettings& settings, const ShardState& state, Retention& retention)
      : settings_(settings), state_(state), retention_(retention) {}

  // One small step: copies at most one block, or writes the copy that waits. Call after every event.
  void advance(Version watermark, Effects& effects);
  // The state was replaced (reload after a fork): what was begun is void.
  void restart();
  bool active() const { return active_; }

 private:
  void finish(Effects& effects);

  const RunSettings& settings_;
  const ShardState& state_;
  Retention& retention_;
  records::SnapshotHead current_;  // while active
  bool active_ = false;
  std::uint32_t next_block_ = 0;
  std::optional<Version> pending_version_;  // of the one copy that waits for the watermark
  SharedBytes pending_;
};

}  // namespace godwit
