#include "server/core/snapshotter.h"

#include <algorithm>

namespace godwit {

void Snapshotter::restart(records::SnapshotHead last) {
  last_ = last;
  active_ = false;
  pending_.reset();
  pending_version_.reset();
}

void Snapshotter::advance(Version watermark, Effects& effects) {
  if (!active_) {
    if (state_.version().value() < last_.oldest.value() + settings_.snapshot_versions) return;
    active_ = true;
    current_ = {last_.id + 1, state_.version()};
    next_block_ = 0;
  }
  if (!pending_version_) {
    pending_version_ = state_.version();
    current_.oldest = std::min(current_.oldest, state_.version());
    pending_ = share(records::encode_snapshot_block(state_.version(), state_.values(next_block_),
                                                    state_.velocity(next_block_)));
  }
  if (*pending_version_ > watermark) return;
  Batch batch;
  batch.put(Family::kSnapshot, records::snapshot_key(state_.shard(), current_.id, next_block_), pending_);
  effects.write(std::move(batch));
  pending_.reset();
  pending_version_.reset();
  if (++next_block_ == state_.block_count()) finish(effects);
}

void Snapshotter::finish(Effects& effects) {
  const ShardId shard = state_.shard();
  Batch batch;
  batch.put(Family::kMeta, records::meta_key('s', shard), records::encode_snapshot_head(current_));
  batch.erase_range(Family::kSnapshot, records::snapshots_begin(shard, 0),
                    records::snapshots_begin(shard, current_.id));
  // Replay starts at oldest + 1; everything up to it is in the snapshot.
  batch.erase_range(Family::kInputs, records::inputs_begin(shard, Version()),
                    records::inputs_begin(shard, current_.oldest.next()));
  if (current_.oldest.value() > settings_.log_retained_versions) {
    const Version keep(current_.oldest.value() - settings_.log_retained_versions);
    batch.erase_range(Family::kLog, records::log_begin(shard, Version()), records::log_begin(shard, keep));
  }
  batch.sync = true;  // the blocks before the head that names them
  effects.write(std::move(batch));
  effects.notice(Notice::Kind::kSnapshotDone, shard, "", static_cast<double>(current_.oldest.value()));
  last_ = current_;
  active_ = false;
}

}  // namespace godwit
