// Aggregator: the region's side of one shard. It admits pushes, sums those of one round, and turns each
// aggregate into an immutable outbox item that is durable before its members are acknowledged and before it
// is offered. While an item is unnamed, later pushes merge into the next aggregate: a slow link makes
// contributions larger, never a queue longer.
//
// One strand owns it (the region core).
#pragma once

#include <map>
#include <optional>
#include <set>

#include "server/core/admission.h"
#include "server/core/effects.h"
#include "server/core/open_aggregate.h"
#include "server/core/shard_state.h"

namespace godwit {

class Aggregator {
 public:
  struct Place {
    RegionId self;
    RegionId leader;          // as far as is known
    Incarnation incarnation;  // of this data directory
    Hash manifest;
  };
  // What a restarted region finds in its store.
  struct Stored {
    records::WorkerTable table;
    std::map<SequenceNo, Contribution> items;
    std::map<Round, OpenAggregate> open;
  };
  static Result<Stored> load(const StoreReader& store, ShardId shard, const ShardLayout& layout);

  Aggregator(const RunSettings& settings, const ShardState& state, Place place, Stored stored, TimePoint now);

  void on_join(WorkerId worker, float weight, TimePoint now, Effects& effects);
  void on_leave(WorkerId worker, TimePoint now, Effects& effects);
  void on_push(const Push& push, TimePoint now, Effects& effects);
  void on_skip(WorkerId worker, Round round, TimePoint now, Effects& effects);
  void on_announce(Round round, Duration window, TimePoint now, Effects& effects);
  // This region leads, in this epoch, and listens: offer what is unnamed, in order.
  void on_leader(RegionId region, Epoch epoch, TimePoint now, Effects& effects);
  void on_leader_lost() { leader_.reset(); }
  void on_offer_reply(const OfferReply& reply, Effects& effects);
  // The local replica holds this entry now.
  void on_entry(const EntryHeader& header, Version watermark, TimePoint now, Effects& effects);
  // The local replica was recovered, or replaced after a fork: its producer table says what is named.
  void on_reload(TimePoint now, Version watermark, Effects& effects);
  void on_watermark(Version watermark, Effects& effects);
  void on_tick(TimePoint now, Effects& effects);

  Presence presence() const;
  std::size_t outbox_items() const { return items_.size(); }

 private:
  struct Worker {
    float weight = 0;
    float step_seconds = 0;
    Round done;  // pushed or skipped up to this round
  };
  struct Item {
    Contribution contribution;
    SharedBytes encoded_header;
    std::optional<Version> named;
    std::vector<PushId> unacknowledged;  // classes `committed` and `replicated`

    // Its members are told (again) when an entry names them.
    void await_naming() {
      unacknowledged.clear();
      for (const Member& member : contribution.header.members) unacknowledged.push_back(member.id);
    }
  };

  void reply(const PushId& id, PushOutcome outcome, Effects& effects, const Error& error = {});
  bool repeated(const Push& push, Effects& effects);
  std::optional<Error> full(const Push& push) const;
  void accept(const Push& push, const Admission::Admitted& admitted, TimePoint now, Effects& effects);

  void advance(TimePoint now, Effects& effects);  // closes, journals, says that nothing comes
  bool closable(const OpenAggregate& aggregate, TimePoint now, Effects& effects) const;
  void close(Round round, Effects& effects);
  void journal(Effects& effects);
  void write_journal(Batch& batch);
  void offer_next(Effects& effects);
  void offer_nothing(TimePoint now, Effects& effects);
  // After a restore: what is still open was trained on a model that is gone.
  void discard_outdated();
  void acknowledge(std::vector<PushId>& ids, Effects& effects);
  void mark_durable(const OpenAggregate& aggregate);
  void settle_item(Item& item, Version watermark, Effects& effects);
  bool everyone_done(Round round) const;
  Item* first_unnamed();
  Duration patience() const;

  const RunSettings& settings_;
  const ShardState& state_;
  Place place_;
  Admission admission_;
  records::WorkerTable durable_;                       // what the store says
  std::map<WorkerId, records::AcceptedPush> accepted_; // durable_ plus what is still in memory
  std::map<SequenceNo, Item> items_;
  std::map<Round, OpenAggregate> open_;
  bool journaled_ = false;                             // a journal record exists
  std::map<WorkerId, Worker> workers_;                 // active ones
  std::optional<Epoch> leader_;                        // of the leader that listens now
  Round announced_;
  TimePoint announced_at_{};
  bool said_nothing_ = false;                          // since the last announcement
  Duration window_{};
};

}  // namespace godwit
