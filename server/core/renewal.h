// Renewal: what a region does when it finds its disk damaged, while others hold what its replicas held. It leaves
// the in-sync sets, drops the replicas of all its shards, and follows as a newcomer. What only this region has
// stays: the outbox, the journal, and the table of what its workers pushed.
//
// In this order: leave() in the place of every shard's record; kReplicaFamilies are emptied; renewed(). After a crash
// in between it is done again from the first step on.
#pragma once

#include <array>

#include "server/core/shard_record.h"
#include "server/core/store.h"

namespace godwit {

inline constexpr std::array kReplicaFamilies = {Family::kLog, Family::kInputs, Family::kPushes, Family::kSnapshot};

// The record without this region, led by another member if this one leads. Errors: kConflict: nobody else is one.
Result<ShardRecord> leave(const ShardRecord& record, ShardId shard, RegionId self);

// `epochs`: of the shards' records, in order. `replica`: above every name that the region's replicas had.
Batch renewed(const std::vector<Epoch>& epochs, Incarnation replica);

// Under which name the region's replicas stand in the in-sync sets: that of their last renewal, or else of the data
// directory. Errors: kCorrupt, kIo.
Result<Incarnation> replica_incarnation(const StoreReader& store, Incarnation directory);

}  // namespace godwit
