// Recovery: from what a store holds to the state at its last durable version. Blocks come from the newest
// complete snapshot, each at its own version, and are replayed to the head. A leader replays the inputs
// through the commit arithmetic and must reproduce the logged updates byte for byte.
#pragma once

#include "server/core/entry_log.h"
#include "server/core/shard_state.h"

namespace godwit {

struct Recovered {
  ShardState state;
  records::SnapshotHead snapshot;
  Epoch epoch;            // highest one seen
  Version watermark;      // a lower bound of it: the snapshot's oldest block
  Outer last_outer = Outer::kNone;
  std::uint64_t replayed = 0;  // versions
};

// Errors: kCorrupt naming shard, version, block and what was lost.
Result<Recovered> recover_shard(const StoreReader& store, ShardId shard, const ShardLayout& layout, bool leader);

}  // namespace godwit
