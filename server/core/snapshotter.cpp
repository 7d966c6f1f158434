#include "server/core/snapshotter.h"

#include <algorithm>

namespace godwit {

void Snapshotter::restart() {
  active_ = false;
  pending_.reset();
  pending_version_.reset();
}

void Snapshotter::advance(Version watermark, Effects& effects) {
  if (!active_) {
    const records::SnapshotHead last = retention_.newest();
    if (state_.version().value() < last.oldest.value() + settings_.snapshot_versions) return;
    active_ = true;
    current_ = {last.id + 1, state_.version(), state_.version()};
    next_block_ = 0;
  }
  if (!pending_version_) {
    pending_version_ = state_.version();
    current_.newest = std::max(current_.newest, state_.version());
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
  Batch batch;
  retention_.add(current_, settings_, batch);
  batch.sync = true;  // the blocks before the head that names them
  effects.write(std::move(batch));
  effects.notice(Notice::Kind::kSnapshotDone, state_.shard(), "", static_cast<double>(current_.oldest.value()));
  active_ = false;
}

}  // namespace godwit
