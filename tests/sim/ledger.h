// Ledger: the one history that all replicas must tell. It sees every push that a worker makes, every
// acknowledgement that a server sends, and every commit record that reaches a disk, and fails the run when
// they do not fit together.
#pragma once

#include <map>
#include <set>
#include <vector>

#include "server/core/region_core.h"
#include "tests/sim/arithmetic.h"
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
  // What this region had acknowledged and not sent is gone, with its workers' trust.
  void on_disk_lost(RegionId region);
  // The replica's memory against the log.
  void check_replica(RegionId region, const ShardCore& shard);
  void check_anchor(const ShardView& view);
  // The end: nothing that was acknowledged is missing.
  void check_all_named();

  Version head(ShardId shard) const { return logs_[shard.value()].head().version; }
  Round round(ShardId shard) const { return logs_[shard.value()].head().round; }
  ModeEpoch mode_epoch(ShardId shard) const { return logs_[shard.value()].head().mode_epoch; }

 private:
  struct Log {
    Arithmetic arithmetic;
    MadePushes pushes;
    std::vector<EntryHeader> headers;           // of version 1, 2, ...
    std::vector<Hash> entry_hashes;
    std::map<PushId, Version> named;
    std::map<PushId, RegionId> acknowledged;
    std::map<records::ProducerId, SequenceNo> producers;
    std::vector<Version> durable;               // per region: what its disk holds
    std::vector<Version> replicated;            // per region: what its disk has ever held
    EntryHeader head() const { return headers.empty() ? EntryHeader() : headers.back(); }
  };
  void fail(const Log& log, const std::string& why);
  ShardId shard_of(const Log& log) const { return ShardId(static_cast<std::uint32_t>(&log - logs_.data())); }
  void on_record(RegionId region, ShardId shard, Version version, ByteView record, const StoreReader& store);
  void append(Log& log, const Entry& entry);
  void name_members(Log& log, const EntryHeader& header);
  void count(const EntryHeader& header);
  bool stored(RegionId region, ShardId shard, const PushId& id, const StoreReader& store) const;

  Simulator& sim_;
  const Swarm& swarm_;
  const Layout& layout_;
  std::vector<Log> logs_;  // per shard
};

}  // namespace godwit::sim
