// Ledger: what was promised, against what is. It sees every push that a worker makes, every
// acknowledgement that a server sends, every commit record that reaches a disk, every watermark
// that a replica claims and every set that the control store holds, and fails the run when they do
// not fit together.
#pragma once

#include <map>
#include <set>
#include <vector>

#include "server/core/region_core.h"
#include "tests/sim/history.h"
#include "tests/sim/simulator.h"
#include "worker/core/rebase.h"

namespace godwit::sim {

class Ledger {
 public:
  Ledger(Simulator& sim, const Swarm& swarm, const Layout& layout);

  void on_push(const Push& push, std::span<const float> q);
  // The server is about to tell its worker that this push is safe, as the run's class promises.
  void on_acknowledge(RegionId region, ShardId shard, const PushId& id, const StoreReader& store);
  // A batch is in this region's store.
  void on_written(RegionId region, const Batch& batch, const StoreReader& store);
  // A server has recovered from its store after a crash.
  void on_recovered(RegionId region, const RegionCore& core, const StoreReader& store);
  // Its replicas are gone.
  void on_disk_rotten(RegionId region);
  // The same, and what it had acknowledged and not sent, with its workers' trust.
  void on_disk_lost(RegionId region);
  // The control store holds this now.
  void on_shard_record(ShardId shard, const ShardRecord& record);
  // An operator wants the run to go on from there.
  void on_restore(const RestoreSetting& setting);
  // The replica's memory against the log.
  void check_replica(RegionId region, const ShardCore& shard);
  // What it takes for settled, as soon as its log is on its disk.
  void check_watermark(RegionId region, const ShardCore& shard);
  void check_anchor(const ShardView& view);
  // The end: nothing that was acknowledged is missing.
  void check_all_named();
  // Would every shard still have a member of its in-sync set, if this disk were lost?
  bool can_lose_disk(RegionId region) const;

  Version head(ShardId shard) const { return logs_[shard.value()].history.head().version; }
  Round round(ShardId shard) const { return logs_[shard.value()].history.head().round; }
  // Of the newest version that no failover takes back.
  RestoreEpoch settled_restore(ShardId shard) const {
    const Log& log = logs_[shard.value()];
    return log.history.find(log.settled_entry)->entry.header.restore_epoch;
  }
  records::Pin settled(ShardId shard) const {
    return {logs_[shard.value()].settled, logs_[shard.value()].settled_entry};
  }
  ModeEpoch mode_epoch(ShardId shard) const {
    return logs_[shard.value()].history.head().mode_epoch;
  }

 private:
  struct Log {
    History history;
    MadePushes pushes;
    std::map<PushId, RegionId> acknowledged;
    std::vector<Hash> held;  // per region: the newest entry that its disk holds
    Version settled;         // the highest watermark that anybody claimed
    Hash settled_entry;
    ShardRecord record;
  };
  void fail(const Log& log, const std::string& why);
  ShardId shard_of(const Log& log) const {
    return ShardId(static_cast<std::uint32_t>(&log - logs_.data()));
  }
  void on_truncated(RegionId region, const Bytes& begin);
  void on_record(RegionId region, ShardId shard, Version version, ByteView record,
                 const StoreReader& store);
  void check_recovered(RegionId region, const ShardCore& shard, const StoreReader& store);
  void check_members(Log& log);
  void count(const EntryHeader& header);
  bool is_settled(const Log& log, const PushId& id) const;
  std::set<PushId> stored(ShardId shard, const StoreReader& store) const;
  bool durable() const { return swarm_.run.ack != AckClass::kMemory; }

  Simulator& sim_;
  const Swarm& swarm_;
  const Layout& layout_;
  std::vector<Log> logs_;                  // per shard
  std::vector<Incarnation> incarnations_;  // per region: of the disk that it has now
};

}  // namespace godwit::sim
