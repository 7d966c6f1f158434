// Recovery: from what a store holds to the state at its last durable version. Blocks come from the newest
// complete snapshot, each at its own version, and are replayed to the head. A leader replays the inputs of
// what it committed itself, since it began to lead, through the commit arithmetic and must reproduce the logged
// updates byte for byte. How far the watermark was is not recovered: a snapshot may hold more (a reload does).
#pragma once

#include "server/core/entry_log.h"
#include "server/core/retention.h"
#include "server/core/shard_state.h"

namespace godwit {

struct Recovered {
  ShardState state;
  Retention retention;
  Epoch epoch;            // highest one seen
  Outer last_outer = Outer::kNone;
  std::uint64_t replayed = 0;  // versions
};

// `leads`: this region, if it leads the shard. Errors: kCorrupt naming shard, version, block and what was lost;
// kInternal: replaying gives other bytes than the log states.
Result<Recovered> recover_shard(const StoreReader& store, ShardId shard, const ShardLayout& layout,
                                std::optional<RegionId> leads);

// The state as it was at `version`, without producers and velocity that only the head has. Errors: kNotFound: the
// version is not kept here; kCorrupt, kIo.
Result<ShardState> rebuild(const StoreReader& store, ShardId shard, const ShardLayout& layout, Version version);

}  // namespace godwit
