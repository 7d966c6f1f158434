// Replication: what a leader knows of the other replicas, and the watermark. Entries go to each follower in
// order, one undrained at a time, so that a slow link holds back the next commit instead of growing a queue.
// The in-sync set is all replicas: a dead region stops the watermark, never the commits.
#pragma once

#include <map>

#include "server/core/effects.h"
#include "server/core/entry_log.h"
#include "server/core/shard_state.h"

namespace godwit {

class Replication {
 public:
  Replication(const ShardState& state, const EntryLog& log, RegionId self, std::uint32_t regions, Epoch epoch,
              Version watermark, const StoreReader& store);

  void on_subscribe(const Subscribe& subscribe, Effects& effects);
  void on_replicated(const Replicated& replicated, Effects& effects);
  // The last entry sent to this region has left for the wire.
  void on_drained(RegionId region, Version version);
  void on_disconnected(RegionId region);
  // Sends what can be sent; call after every commit and every event above.
  void pump(Effects& effects);

  // The last update has drained to every connected follower: the next commit may happen.
  bool drained() const;
  Version watermark() const { return watermark_; }

 private:
  struct Follower {
    bool connected = false;
    Version sent;        // last one handed to the shell
    Version drained;     // last one that left for the wire
    Version replicated;  // durable there
  };
  void install(RegionId region, Effects& effects);
  void move_watermark(Effects& effects);

  const ShardState& state_;
  const EntryLog& log_;
  const StoreReader& store_;
  RegionId self_;
  Epoch epoch_;
  Version watermark_;
  std::map<RegionId, Follower> followers_;
};

// The whole state at its version, for followers and for workers that are far behind. `for_replica` adds the
// tables that only replicas need.
Result<Snapshot> make_snapshot(const ShardState& state, const StoreReader& store, bool for_replica);

}  // namespace godwit
