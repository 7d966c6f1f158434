// Replication: what a leader knows of the other replicas, the in-sync set, and the watermark.
// Entries go to each follower in order, one undrained at a time, so that a slow link holds back the
// next commit instead of growing a queue.
//
// The watermark waits for every member of the set as the control store holds it and as it may be
// about to hold it: a member leaves the set there before the watermark moves without it, and a
// newcomer holds the watermark back before it is in the set.
#pragma once

#include <map>

#include "server/core/effects.h"
#include "server/core/entry_log.h"
#include "server/core/settings.h"
#include "server/core/shard_record.h"
#include "server/core/shard_state.h"

namespace godwit {

class Replication {
 public:
  Replication(const RunSettings& settings, const ShardState& state, const EntryLog& log,
              const StoreReader& store, RegionId self, Epoch epoch, Version watermark,
              TimePoint now);

  // The leader's first entry, if it made one, is in the log: tells everyone who leads.
  void begin(Effects& effects);
  void on_connected(RegionId region, Effects& effects) const;
  void on_subscribe(const Subscribe& subscribe, Effects& effects);
  void on_replicated(const Replicated& replicated, Effects& effects);
  // The last entry sent to this region has left for the wire.
  void on_drained(RegionId region, Version version);
  void on_disconnected(RegionId region, TimePoint now);
  // Sends what can be sent; call after every commit and every event above.
  void pump(Effects& effects);

  // The set as the control store holds it, and as a change under way would make it.
  void set_in_sync(InSync held, InSync proposed, Effects& effects);
  // The set as it should be; asks again when somebody's time is over.
  InSync wanted(TimePoint now, Effects& effects) const;

  // The last update has drained to every connected follower: the next commit may happen.
  bool drained() const;
  Version watermark() const { return watermark_; }

 private:
  struct Follower {
    Incarnation incarnation;
    bool connected = false;
    TimePoint gone_since{};  // while it is not connected
    Version sent;            // last one handed to the shell
    Version drained;         // last one that left for the wire
    Version replicated;      // durable there, on this log
  };
  void install(RegionId region, Effects& effects);
  void move_watermark(Effects& effects);
  bool holds(const Follower& follower, Version version) const;

  const RunSettings& settings_;
  const ShardState& state_;
  const EntryLog& log_;
  const StoreReader& store_;
  RegionId self_;
  Epoch epoch_;
  Version watermark_;
  Version first_;  // the head when this leader began: a newcomer must hold it, an older watermark
                   // may cover it
  std::map<RegionId, Follower> followers_;
  InSync held_, proposed_;
};

// The whole state at its version, for followers and for workers that are far behind. `for_replica`
// adds the tables that only replicas need.
Result<Snapshot> make_snapshot(const ShardState& state, const StoreReader& store, bool for_replica);

}  // namespace godwit
