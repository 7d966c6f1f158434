// Succession: when a region should propose itself as the leader of a shard, because the lease of
// the one that leads is gone. A matter of liveness only: whoever proposes, when, and on what
// belief, the compare-and-swap of the shard's record decides, and it holds members of the in-sync
// set alone.
#pragma once

#include <map>
#include <optional>

#include "server/core/shard_record.h"
#include "shared/base/time.h"

namespace godwit {

class Succession {
 public:
  explicit Succession(Duration lease) : lease_(lease) {}

  void on_lease(RegionId region, bool held, TimePoint now);
  // When `self` should propose itself; nullopt as things are. The lease gets a quarter of its time
  // to be taken again, then candidates take turns, so that they do not race; the first one differs
  // by shard, so that a dead region's shards spread over the others.
  std::optional<TimePoint> due(ShardId shard, const ShardRecord& record, RegionId self,
                               Incarnation incarnation) const;

 private:
  bool held(RegionId region) const;

  Duration lease_;
  std::map<RegionId, std::optional<TimePoint>>
      vacant_since_;  // nullopt: held; absent: never heard of
};

}  // namespace godwit
