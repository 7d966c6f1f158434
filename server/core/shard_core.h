// ShardCore: everything one region does for one shard, as one pure state machine: the replica (leading or
// following), the region's aggregate and outbox, snapshots, and pulls. Events go in, Effects come out.
#pragma once

#include <memory>
#include <optional>

#include "server/core/aggregator.h"
#include "server/core/follower.h"
#include "server/core/leader.h"
#include "server/core/puller.h"
#include "server/core/recovery.h"
#include "server/core/snapshotter.h"

namespace godwit {

struct ShardStatus {
  ShardId shard;
  RegionId leader;
  bool leads = false;
  Version version;
  Version watermark;
  Epoch epoch;
  Round round;
  Mode mode = Mode::kAsync;
  ModeEpoch mode_epoch;
  Outer outer = Outer::kNone;
  std::uint32_t median_steps = 0;
  double round_weight = 0;
  std::uint64_t tokens = 0;
  std::uint64_t parameters = 0;
  std::uint64_t outbox_items = 0;
  std::uint32_t workers = 0;
  InSync in_sync;
  RestoreEpoch restore_epoch;
  std::string waiting_for;  // leaders: why the next version is not there yet
};

class ShardCore {
 public:
  struct Place {
    RegionId self;
    ShardId shard;
    Incarnation incarnation;  // of the data directory
    Incarnation replica;      // of the replica: since its last renewal
    Hash manifest;
    HeldRecord held;
    bool leads = false;  // this process took the record's epoch, by compare-and-swap
  };
  // Recovers from the store. `settings` and `store` outlive the core. Errors: kCorrupt, kIo.
  static Result<std::unique_ptr<ShardCore>> open(const RunSettings& settings, const StoreReader& store,
                                                 const ShardLayout& layout, Place place, TimePoint now);
  ShardCore(const ShardCore&) = delete;
  ShardCore& operator=(const ShardCore&) = delete;

  void start(TimePoint now, Effects& effects);
  void on_message(RegionId from, const Message& message, TimePoint now, Effects& effects);
  void on_message(WorkerId from, const Message& message, TimePoint now, Effects& effects);
  void on_announce(Round round, Duration window, TimePoint now, Effects& effects);
  // The shard's record as the control store holds it now, or held it a while ago.
  void on_record(const HeldRecord& held, TimePoint now, Effects& effects);
  // Asks the control store to let this region lead from now on. REQUIRES: it is a member of the in-sync set.
  void propose_to_lead(TimePoint now, Effects& effects);
  void on_region_connected(RegionId region, TimePoint now, Effects& effects);
  void on_region_disconnected(RegionId region, TimePoint now, Effects& effects);
  void on_worker_left(WorkerId worker, TimePoint now, Effects& effects);
  void on_drained(RegionId region, Version version, TimePoint now, Effects& effects);
  void set_mode(const ModeSetting& setting, TimePoint now, Effects& effects);
  void set_restore(const RestoreSetting& setting, TimePoint now, Effects& effects);
  // The versions that checkpoints name: they stay, whatever else goes.
  void set_pins(std::vector<records::Pin> pins, Effects& effects);
  void on_tick(TimePoint now, Effects& effects);

  const ShardState& state() const { return state_; }
  RegionId leader_region() const { return leader_ ? place_.self : follower_->leader(); }
  bool leads() const { return leader_.has_value(); }
  // A change of the record is under way.
  bool proposes() const { return proposal_.has_value(); }
  const ShardRecord& record() const { return place_.held.record; }
  Epoch epoch() const { return leader_ ? leader_->epoch() : follower_->epoch(); }
  Version watermark() const { return leader_ ? leader_->watermark() : follower_->watermark(); }
  Presence presence() const { return aggregator_->presence(); }
  ShardStatus status() const;
  std::uint64_t replayed() const { return replayed_; }
  // The newest version that no failover takes back, as far as this replica knows. Errors: kUnavailable: none yet.
  Result<records::Pin> settled() const;
  // The entry and every block at `version`: blocks recomputed from memory at the head, else as the log states
  // them. Errors: kNotFound when the version is not there (yet, or any more).
  struct Hashes {
    Hash entry;
    std::vector<Hash> blocks;
  };
  Result<Hashes> hashes(Version version) const;

 private:
  ShardCore(const RunSettings& settings, const StoreReader& store, Recovered recovered, Place place);
  // After every event: what the replica gained becomes visible to the aggregator, pulls and snapshots.
  void settle(TimePoint now, Effects& effects);
  void reload(TimePoint now, Effects& effects);
  void lead(TimePoint now, Effects& effects);
  void step_down(RegionId leader, Epoch epoch, Effects& effects);
  void follow(RegionId leader, Epoch epoch, Effects& effects);
  void to_leader(RegionId from, const Message& message, TimePoint now, Effects& effects);
  void to_follower(RegionId from, const Message& message, TimePoint now, Effects& effects);
  void propose(ShardRecord next, TimePoint now, Effects& effects);
  void tell_restore(TimePoint now, Effects& effects);
  void keep_record(TimePoint now, Effects& effects);
  void keep_in_sync(TimePoint now, Effects& effects);

  // A change of the record whose outcome is not known: it may have happened, or may yet happen.
  struct Proposal {
    ShardRecord next;
    Revision expected;
    TimePoint resend_at;
  };

  const RunSettings& settings_;
  const StoreReader& store_;
  Place place_;
  std::optional<Proposal> proposal_;
  ModeSetting mode_;
  RestoreSetting restore_;
  ShardState state_;
  EntryLog log_;
  Retention retention_;
  Snapshotter snapshotter_;
  Puller puller_;
  std::optional<Leader> leader_;
  std::optional<Follower> follower_;
  std::optional<Aggregator> aggregator_;
  Version published_;   // what settle() has shown
  Version published_watermark_;
  std::uint64_t replayed_ = 0;
};

}  // namespace godwit
