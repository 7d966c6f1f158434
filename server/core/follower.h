// Follower: replays another region's log. It takes an entry only if it extends its own tail (version, epoch,
// previous hash); whatever does not fit makes it subscribe again, and a forked tail is truncated and reloaded.
#pragma once

#include "server/core/effects.h"
#include "server/core/entry_log.h"
#include "server/core/retention.h"
#include "server/core/settings.h"
#include "server/core/shard_state.h"

namespace godwit {

class Follower {
 public:
  struct Place {
    RegionId self;
    Incarnation incarnation;  // of the replica
    RegionId leader;
    Epoch epoch;  // highest one seen, persisted
    Version watermark;
  };
  // All references outlive the follower.
  Follower(const RunSettings& settings, ShardState& state, EntryLog& log, Retention& retention,
           const StoreReader& store, Place place)
      : settings_(settings), state_(state), log_(log), retention_(retention), store_(store), place_(place) {}

  // Somebody else leads, in an epoch that is not older than the one we know. False: it is older.
  bool follow(RegionId leader, Epoch epoch, Effects& effects);
  // The leader is ready: ask it for what is missing.
  void on_lead(RegionId from, const Lead& lead, Effects& effects);
  // Also when something does not fit.
  void subscribe(Effects& effects);
  // Returns true when the leader listens: offers start over.
  bool on_subscribed(const Subscribed& subscribed, Effects& effects);
  void on_replicate(const Replicate& replicate, Effects& effects);
  void on_watermark(const Watermark& watermark, Effects& effects);
  // Truncates and reloads. Returns true when the state was replaced.
  bool on_install(const Install& install, Effects& effects);

  RegionId leader() const { return place_.leader; }
  Epoch epoch() const { return place_.epoch; }
  Version watermark() const { return place_.watermark; }

 private:
  bool stale(Epoch epoch, Effects& effects) const;
  void learn_epoch(Epoch epoch, Effects& effects);
  void report(Effects& effects) const;
  Result<void> apply(const Entry& entry);
  void raise_watermark(Version watermark);

  const RunSettings& settings_;
  ShardState& state_;
  EntryLog& log_;
  Retention& retention_;
  const StoreReader& store_;
  Place place_;
  // Our tail is a part of the leader's log. Until then its watermark says nothing about our versions: a tail
  // that an older leader left may be about to go.
  bool matched_ = false;
};

}  // namespace godwit
