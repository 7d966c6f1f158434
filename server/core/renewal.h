// Renewal: what a region does when it finds its disk damaged, while others hold what its replicas held. It leaves
// the in-sync sets, drops the replicas of all its shards, and follows as a newcomer. What only this region has
// stays: the outbox, the journal, and the table of what its workers pushed.
//
// In this order: every shard's record as left_by() says; replica_renamed(); kReplicaFamilies are emptied, as they are
// listed; replica_dropped(). After a crash in between it is done again from the first step on: what is left of the
// replicas either does not recover, or is that of no member, since its name is new.
#pragma once

#include <array>

#include "server/core/shard_record.h"
#include "server/core/store.h"

namespace godwit {

inline constexpr std::array kReplicaFamilies = {Family::kLog, Family::kInputs, Family::kPushes, Family::kSnapshot};

// The record without this region, led by another member if this one leads. Errors: kConflict: nobody else is one.
Result<ShardRecord> left_by(RegionId self, ShardId shard, const ShardRecord& record);

// `next`: above every name that the region's replicas had.
Batch replica_renamed(Incarnation next);

// `epochs`: of the shards' records, in order.
Batch replica_dropped(const std::vector<Epoch>& epochs);

// Under which name the region's replicas stand in the in-sync sets: that of their last renewal, or else of the data
// directory. Errors: kCorrupt, kIo.
Result<Incarnation> replica_incarnation(const StoreReader& store, Incarnation directory);

}  // namespace godwit
