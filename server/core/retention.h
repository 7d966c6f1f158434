// Retention: which snapshots and which parts of the log a replica keeps: what it takes to rebuild
// every version of the last `log_retained_versions`, and every version that a checkpoint pins. A
// version is rebuilt from the newest snapshot that is not above it and the log from there.
#pragma once

#include <vector>

#include "server/core/effects.h"
#include "server/core/records.h"
#include "server/core/settings.h"

namespace godwit {

class Retention {
 public:
  Retention() = default;
  // Errors: kCorrupt, kIo.
  static Result<Retention> load(const StoreReader& store, ShardId shard);

  // The newest complete snapshot; id 0 is the empty model, which every log begins with.
  records::SnapshotHead newest() const {
    return snapshots_.empty() ? records::SnapshotHead() : snapshots_.back();
  }
  // What a rebuild of `version` starts from.
  records::SnapshotHead base(Version version) const;

  // Can this replica rebuild it? Errors: kNotFound (not kept), kConflict (another entry is there),
  // kIo.
  Result<void> keeps(const records::Pin& pin, const StoreReader& store) const;

  // A snapshot is complete: what nobody needs any more goes.
  void add(records::SnapshotHead snapshot, const RunSettings& settings, Batch& batch);
  // The log is replaced by a snapshot at `version`: all goes but the pinned versions, which every
  // log of the shard has. Returns the id of that snapshot.
  std::uint64_t replace(Version version, const StoreReader& store, Batch& batch);
  // The checkpoints' versions from now on; remembered over a restart. What is released goes at once, so that a log has
  // a gap only after a pinned version.
  void pin(std::vector<records::Pin> pins, const RunSettings& settings, Batch& batch);

 private:
  struct Kept;
  Kept wanted(const RunSettings& settings) const;
  void keep_pinned(const records::Pin& pin, Kept& kept) const;
  void keep(const Kept& kept, bool tail, Batch& batch);

  ShardId shard_;
  std::vector<records::SnapshotHead> snapshots_;  // complete ones, by id
  std::vector<records::Pin> pins_;
};

}  // namespace godwit
