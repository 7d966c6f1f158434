// RegionCore: a region server's decisions, all shards. It routes events to its ShardCores, tells
// leaders who trains here, relays round announcements to workers, keeps the region's lease, and lets a
// shard lead here when its leader's lease is gone. Pure: the server process, the
// simulator and the benchmarks are shells around it.
//
// One strand owns it. Every event returns Effects, to be performed in the order that effects.h
// states.
#pragma once

#include <memory>
#include <set>
#include <vector>

#include "server/core/shard_core.h"
#include "server/core/succession.h"

namespace godwit {

class RegionCore {
 public:
  struct Place {
    RegionId self;
    Incarnation incarnation;          // of the data directory: numbers contributions
    Incarnation replica;              // of its replicas: their name in the in-sync sets
    std::vector<HeldRecord> records;  // per shard; where there is none yet: who is to lead first
    std::vector<bool> leads;          // per shard: this process took the record's epoch
  };
  // `settings` and `store` outlive the core. Errors: kCorrupt, kIo, kWrongEpoch.
  static Result<std::unique_ptr<RegionCore>> open(const RunSettings& settings,
                                                  const StoreReader& store,
                                                  const Manifest& manifest, Place place,
                                                  TimePoint now);

  Effects start(TimePoint now);
  Effects on_message(RegionId from, const Message& message, TimePoint now);
  Effects on_message(WorkerId from, const Message& message, TimePoint now);
  Effects on_region_connected(RegionId region, TimePoint now);
  Effects on_region_disconnected(RegionId region, TimePoint now);
  Effects on_worker_left(WorkerId worker, TimePoint now);
  // A Replicate or Install message to `region` has left for the wire; `version` is that of its
  // entry. Until it is reported, nothing more is sent to the region and nothing is committed.
  Effects on_drained(RegionId region, ShardId shard, Version version, TimePoint now);
  // An item of the control store, as a watch or the answer to one of `controls` brings it. Older states
  // may come after newer ones.
  Effects on_control(const ControlItem& item, TimePoint now);
  Effects on_tick(TimePoint now);

  std::size_t shard_count() const { return shards_.size(); }
  const ShardCore& shard(ShardId id) const { return *shards_[id.value()]; }
  const Layout& layout() const { return layout_; }

 private:
  RegionCore(const RunSettings& settings, Layout layout, Place place)
      : settings_(settings), layout_(std::move(layout)), place_(std::move(place)), succession_(settings.lease) {}
  void announce(const Announce& announce, TimePoint now, Effects& effects);
  void tell_presence(TimePoint now, Effects& effects);
  void keep_lease(TimePoint now, Effects& effects);
  void succeed(TimePoint now, Effects& effects);
  void pin(const ControlItem& item, Effects& effects);

  const RunSettings& settings_;
  Layout layout_;
  Place place_;
  Succession succession_;
  std::map<std::string, Revision> leases_;  // newest revision seen
  Revision checkpoints_;                    // the same
  std::vector<std::unique_ptr<ShardCore>> shards_;
  std::set<WorkerId> workers_;  // active ones
  TimePoint presence_due_{};
  TimePoint lease_due_{};
};

// How often regions tell leaders who trains there; several times per lease.
inline constexpr Duration kPresenceInterval = milliseconds(500);

}  // namespace godwit
