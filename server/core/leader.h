// Leader: commits the versions of one shard. It accepts contributions in dense order per region, groups them
// into rounds, and makes each commit an entry that is durable here before anyone sees it.
//
// One strand owns it (the region core). Epochs make it safe: a leader that was replaced is refused everywhere.
#pragma once

#include <map>
#include <optional>

#include "server/core/announcer.h"
#include "server/core/checkpoint.h"
#include "server/core/mode_setting.h"
#include "server/core/outer_rule.h"
#include "server/core/replication.h"
#include "server/core/rounds.h"

namespace godwit {

class Leader {
 public:
  struct Place {
    RegionId self;
    Epoch epoch;
    Version watermark;
    Outer last_outer = Outer::kNone;  // of the last round in the log
    Epoch since;                      // this leader's first epoch: an older head is another tenure's
    InSync in_sync;                   // as the control store holds it
  };
  // All references outlive the leader. REQUIRES: state keeps velocity; the epoch was won by compare-and-swap.
  Leader(const RunSettings& settings, ShardState& state, EntryLog& log, const StoreReader& store, Place place,
         TimePoint now);

  // The first thing: a log of another tenure goes on with an entry that says so.
  void begin(TimePoint now, Effects& effects);
  void on_connected(RegionId region, Effects& effects) const { replication_.on_connected(region, effects); }
  void on_subscribe(const Subscribe& subscribe, TimePoint now, Effects& effects);
  void on_offer(const Offer& offer, TimePoint now, Effects& effects);
  void on_empty_offer(const EmptyOffer& offer, TimePoint now, Effects& effects);
  void on_replicated(const Replicated& replicated, Effects& effects);
  void on_presence(const Presence& presence, TimePoint now, Effects& effects);
  void on_drained(RegionId region, Version version, TimePoint now, Effects& effects);
  void on_disconnected(RegionId region, TimePoint now, Effects& effects);
  void set_mode(const ModeSetting& setting, TimePoint now, Effects& effects);
  // The model goes on from what it was at `pin.version`.
  void restore(RestoreEpoch epoch, records::Pin pin, TimePoint now, Effects& effects);
  void on_tick(TimePoint now, Effects& effects);

  Epoch epoch() const { return place_.epoch; }
  Version watermark() const { return replication_.watermark(); }
  const std::string& waiting_for() const { return restore_.obstacle.empty() ? why_ : restore_.obstacle; }
  // See Replication.
  void set_in_sync(InSync held, InSync proposed, Effects& effects) {
    replication_.set_in_sync(std::move(held), std::move(proposed), effects);
  }
  InSync wanted_in_sync(TimePoint now, Effects& effects) const { return replication_.wanted(now, effects); }

 private:
  struct Region {
    std::optional<Contribution> pending;
    bool poison = false;      // pending is to be named as refused
    Round empty_through;
    std::uint32_t workers = 0;
    double weight = 0;
    float step_seconds = 0;
    TimePoint seen{};         // last presence
  };
  bool live(const Region& region, TimePoint now) const;
  std::map<RegionId, RegionOffer> offers(TimePoint now) const;
  // Commits at most one entry (the next one waits until this one has drained); then sends and announces.
  void advance(TimePoint now, Effects& effects);
  bool commit_next(TimePoint now, Effects& effects);
  // Leaving sync: the oldest round that was open when the mode changed.
  std::optional<Round> open_round() const;
  void commit_round(Round round, TimePoint now, Effects& effects);
  void commit_alone(RegionId region, TimePoint now, Effects& effects);
  void commit_mode(TimePoint now, Effects& effects);
  bool commit_restore(TimePoint now, Effects& effects);
  void commit_promotion(TimePoint now, Effects& effects);
  EntryHeader next_header(EntryKind kind, TimePoint now) const;
  Named name_contribution(const Contribution& contribution, double round_weight) const;
  void commit(EntryHeader header, std::vector<Contribution> contributions, Effects& effects);
  void append(EntryHeader header, std::vector<SharedBytes> payloads,
              const std::vector<Contribution>& contributions, Effects& effects);
  // Trained on a model that a restore has replaced.
  bool outdated(const Contribution& contribution) const;
  Result<void> validate(const Contribution& contribution) const;
  void announce(TimePoint now, Effects& effects);
  CodecSpec update_codec(const EntryHeader& header, std::uint32_t block) const;

  const RunSettings& settings_;
  ShardState& state_;
  EntryLog& log_;
  const StoreReader& store_;
  Place place_;
  Replication replication_;
  Announcer announcer_;
  OuterRule outer_rule_;
  ModeSetting mode_;
  struct Restore {
    RestoreEpoch epoch;
    records::Pin pin;
    TimePoint retry_at{};
    std::string obstacle;  // why it is not done yet
  };
  Restore restore_;         // the last one that was asked for
  Round flush_through_;     // highest round that was offered when mode_ was set
  std::map<RegionId, Region> regions_;
  std::map<Round, TimePoint> first_offer_;
  std::string why_;
};

}  // namespace godwit
