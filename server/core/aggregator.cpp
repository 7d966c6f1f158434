#include "server/core/aggregator.h"

#include <algorithm>

#include "shared/base/check.h"

namespace godwit {

Aggregator::Aggregator(const RunSettings& settings, const ShardState& state, Place place,
                       Stored stored, TimePoint now)
    : settings_(settings),
      state_(state),
      place_(place),
      admission_(settings, state.layout(), place.manifest),
      durable_(std::move(stored.table)),
      accepted_(durable_.workers),
      open_(std::move(stored.open)),
      journaled_(!open_.empty()),
      window_(settings.window_max) {
  for (auto& [round, aggregate] : open_) aggregate.opened_at = now;
  for (auto& [sequence, contribution] : stored.items) {
    Item& item = items_[sequence];
    item.encoded_header = share(contribution.header.encode());
    item.contribution = std::move(contribution);
    if (settings.ack == AckClass::kCommitted || settings.ack == AckClass::kReplicated) item.await_naming();
  }
}

Result<Aggregator::Stored> Aggregator::load(const StoreReader& store, ShardId shard,
                                            const ShardLayout& layout) {
  Stored stored;
  Result<std::optional<Bytes>> table = store.get(Family::kMeta, records::meta_key('w', shard));
  if (!table) return table.error();
  if (*table) {
    Result<records::WorkerTable> decoded = records::decode_workers(**table);
    if (!decoded) return decoded.error();
    stored.table = std::move(*decoded);
  }
  Result<void> decoded;
  Result<void> scanned =
      store.scan(Family::kOutbox, records::outbox_key(shard, SequenceNo(0)),
                 records::journal_key(shard), [&](ByteView, ByteView value) {
                   Result<Contribution> item = records::decode_contribution(value);
                   if (!item) decoded = item.error();
                   if (item) stored.items.emplace(item->header.sequence, std::move(*item));
                   return decoded.has_value();
                 });
  if (!scanned) return scanned.error();
  if (!decoded)
    return Error{decoded.error().code,
                 "outbox of shard " + to_string(shard) + ": " + decoded.error().context};
  Result<std::optional<Bytes>> journal = store.get(Family::kOutbox, records::journal_key(shard));
  if (!journal) return journal.error();
  if (*journal) {
    Result<std::map<Round, OpenAggregate>> open = decode_journal(**journal, layout.parameters);
    if (!open) return open.error();
    stored.open = std::move(*open);
  }
  return stored;
}

void Aggregator::on_join(WorkerId worker, float weight, TimePoint now, Effects& effects) {
  // A joiner owes nothing for rounds that were closed before it came.
  weight = std::clamp(weight, settings_.push_weight_min, settings_.push_weight_max);
  workers_[worker] = Worker{weight, 0, std::max(announced_, state_.head().round)};
  advance(now, effects);
}

void Aggregator::on_leave(WorkerId worker, TimePoint now, Effects& effects) {
  workers_.erase(worker);
  advance(now, effects);
}

void Aggregator::reply(const PushId& id, PushOutcome outcome, Effects& effects,
                       const Error& error) {
  PushReply reply{state_.shard(), id, outcome, error.code, error.context, 0};
  if (outcome == PushOutcome::kOverloaded) {
    reply.retry_after_ms = static_cast<std::uint32_t>(
        std::chrono::duration_cast<milliseconds>(settings_.retry_after).count());
  }
  effects.send(id.worker, std::move(reply));
}

void Aggregator::on_push(const Push& push, TimePoint now, Effects& effects) {
  if (repeated(push, effects)) return;
  if (const std::optional<Error> limit = full(push)) {
    effects.notice(Notice::Kind::kOverloaded, state_.shard(), limit->context);
    return reply(push.header.id, PushOutcome::kOverloaded, effects, *limit);
  }
  const Result<Admission::Admitted> admitted = admission_.admit(push);
  if (!admitted) {
    effects.notice(Notice::Kind::kRefused, state_.shard(), admitted.error().context);
    return reply(push.header.id, PushOutcome::kRefused, effects, admitted.error());
  }
  accept(push, *admitted, now, effects);
  advance(now, effects);
}

// True when the push was answered (or will be) because of its sequence number alone.
bool Aggregator::repeated(const Push& push, Effects& effects) {
  const PushId& id = push.header.id;
  const auto known = accepted_.find(id.worker);
  const SequenceNo last = known != accepted_.end() && known->second.incarnation == id.incarnation
                              ? known->second.last
                              : SequenceNo();
  if (known != accepted_.end() && id.incarnation < known->second.incarnation) {
    PushReply refusal{state_.shard(), id, PushOutcome::kRefused, Errc::kConflict,
                      "a newer process of this worker has pushed", 0, known->second.incarnation};
    effects.send(id.worker, std::move(refusal));
    return true;
  }
  if (id.sequence <= last) {
    const auto waits = [&id](const auto& list) {
      return std::find(list.begin(), list.end(), id) != list.end();
    };
    const bool open = std::any_of(open_.begin(), open_.end(), [&](const auto& item) {
      return waits(item.second.unacknowledged);
    });
    const bool closed = std::any_of(items_.begin(), items_.end(), [&](const auto& item) {
      return waits(item.second.unacknowledged);
    });
    effects.notice(Notice::Kind::kDuplicate, state_.shard(), "push");
    if (!open && !closed) reply(id, PushOutcome::kAcknowledged, effects);
    return true;  // otherwise it is acknowledged when its time comes
  }
  if (id.sequence != last.next() && settings_.ack != AckClass::kMemory) {
    reply(id, PushOutcome::kRefused, effects,
          {Errc::kGap, "expected push " + to_string(last.next()) + " of this worker process"});
    return true;
  }
  return false;
}

std::optional<Error> Aggregator::full(const Push& push) const {
  if (push.header.kind == PushKind::kInitial && state_.version() == Version() &&
      (open_.contains(Round()) || !items_.empty())) {
    return Error{Errc::kOverloaded, "another worker's initial model is on its way"};
  }
  if (items_.size() >= settings_.outbox_items_max) {
    return Error{Errc::kOverloaded,
                 "the outbox is full: a region is away, so the watermark stands still"};
  }
  if (!open_.contains(push.header.round) && open_.size() >= settings_.open_aggregates_max) {
    return Error{Errc::kOverloaded,
                 "too many rounds are open: the link to the leader is slow or down"};
  }
  return std::nullopt;
}

void Aggregator::accept(const Push& push, const Admission::Admitted& admitted, TimePoint now,
                        Effects& effects) {
  const PushHeader& header = push.header;
  if (header.kind == PushKind::kInitial && state_.version() != Version()) {
    return reply(header.id, PushOutcome::kRefused, effects,
                 {Errc::kConflict, "the run has its initial model"});
  }
  if (admitted.clip < 1) effects.notice(Notice::Kind::kClipped, state_.shard(), "", admitted.clip);
  OpenAggregate& aggregate = open_[header.round];
  if (aggregate.members.empty()) aggregate.opened_at = now;
  if (header.restore_epoch < state_.head().restore_epoch) {
    aggregate.add_discarded(header, admitted.values.size());
  } else {
    aggregate.add(header, admitted.values, admitted.clip);
  }
  accepted_[header.id.worker] = {header.id.incarnation, header.id.sequence};
  if (const auto worker = workers_.find(header.id.worker); worker != workers_.end()) {
    worker->second.done = std::max(worker->second.done, header.round);
    worker->second.step_seconds = header.step_seconds;
  }
  if (settings_.ack == AckClass::kMemory)
    return reply(header.id, PushOutcome::kAcknowledged, effects);
  if (aggregate.unacknowledged.empty()) aggregate.oldest_unacknowledged = now;
  aggregate.unacknowledged.push_back(header.id);
}

void Aggregator::on_skip(WorkerId worker, Round round, TimePoint now, Effects& effects) {
  if (const auto found = workers_.find(worker); found != workers_.end()) {
    found->second.done = std::max(found->second.done, round);
    advance(now, effects);
  }
}

void Aggregator::on_announce(Round round, Duration window, TimePoint now, Effects& effects) {
  if (round > announced_) {
    announced_ = round;
    announced_at_ = now;
  }
  window_ = window;
  said_nothing_ = false;
  advance(now, effects);
}

void Aggregator::on_leader(RegionId region, Epoch epoch, TimePoint now, Effects& effects) {
  place_.leader = region;
  leader_ = epoch;
  said_nothing_ = false;
  offer_next(effects);
  advance(now, effects);
}

void Aggregator::on_offer_reply(const OfferReply& reply, Effects& effects) {
  if (reply.outcome != OfferOutcome::kExpect)
    return;  // duplicates are named in an entry that we will replay
  const auto expected = items_.find(reply.expected);
  if (expected == items_.end() || !leader_) return;
  effects.send(place_.leader, Offer{*leader_, expected->second.encoded_header,
                                    expected->second.contribution.payloads});
}

void Aggregator::on_entry(const EntryHeader& header, Version watermark, TimePoint now,
                          Effects& effects) {
  bool ours = false;
  discard_outdated();
  for (const Named& named : header.contributions) {
    if (named.region != place_.self || named.incarnation != place_.incarnation) continue;
    const auto item = items_.find(named.sequence);
    if (item == items_.end()) continue;
    item->second.named = header.version;
    ours = true;
  }
  if (!ours && header.kind != EntryKind::kRound) return;
  on_watermark(watermark, effects);
  if (ours) offer_next(effects);
  advance(now, effects);
}

void Aggregator::on_reload(TimePoint now, Version watermark, Effects& effects) {
  discard_outdated();
  const auto producer = state_.producers().find({place_.self, place_.incarnation});
  const records::Producer last =
      producer == state_.producers().end() ? records::Producer{} : producer->second;
  for (auto& [sequence, item] : items_) {
    const bool lost = item.named && sequence > last.last;  // the version that named it is truncated
    item.named = sequence <= last.last ? std::optional<Version>(last.version) : std::nullopt;
    if (lost && settings_.ack == AckClass::kCommitted) item.await_naming();
  }
  on_watermark(watermark, effects);
  offer_next(effects);
  advance(now, effects);
}

void Aggregator::discard_outdated() {
  for (auto& [round, aggregate] : open_) {
    if (aggregate.sums_anything() && aggregate.restore_epoch < state_.head().restore_epoch) aggregate.discard();
  }
}

void Aggregator::on_watermark(Version watermark, Effects& effects) {
  Batch batch;
  for (auto item = items_.begin(); item != items_.end();) {
    settle_item(item->second, watermark, effects);
    if (item->second.named && *item->second.named <= watermark) {
      batch.erase(Family::kOutbox, records::outbox_key(state_.shard(), item->first));
      item = items_.erase(item);
    } else {
      ++item;
    }
  }
  effects.write(std::move(batch));  // unsynced: an item that comes back is answered `duplicate`
}

void Aggregator::settle_item(Item& item, Version watermark, Effects& effects) {
  const bool reached = settings_.ack == AckClass::kReplicated
                           ? item.named && *item.named <= watermark
                       : settings_.ack == AckClass::kCommitted ? item.named.has_value()
                                                               : true;
  if (reached) acknowledge(item.unacknowledged, effects);
}

void Aggregator::on_tick(TimePoint now, Effects& effects) { advance(now, effects); }

Presence Aggregator::presence() const {
  Presence presence{state_.shard(), place_.self, static_cast<std::uint32_t>(workers_.size()), 0, 0};
  std::vector<float> steps;
  for (const auto& [id, worker] : workers_) {
    presence.weight += worker.weight;
    if (worker.step_seconds > 0) steps.push_back(worker.step_seconds);
  }
  std::sort(steps.begin(), steps.end());
  if (!steps.empty()) presence.step_seconds = steps[steps.size() / 2];
  return presence;
}

Aggregator::Item* Aggregator::first_unnamed() {
  for (auto& [sequence, item] : items_) {
    if (!item.named) return &item;
  }
  return nullptr;
}

bool Aggregator::everyone_done(Round round) const {
  return std::all_of(workers_.begin(), workers_.end(),
                     [round](const auto& item) { return item.second.done >= round; });
}

Duration Aggregator::patience() const {
  return state_.head().mode == Mode::kSync ? settings_.sync_grace / 2 : window_ / 2;
}

void Aggregator::advance(TimePoint now, Effects& effects) {
  if (first_unnamed() == nullptr && !open_.empty() &&
      closable(open_.begin()->second, now, effects)) {
    close(open_.begin()->first, effects);
  }
  std::optional<TimePoint> oldest;
  for (const auto& [round, aggregate] : open_) {
    if (aggregate.unacknowledged.empty()) continue;
    oldest = oldest ? std::min(*oldest, aggregate.oldest_unacknowledged)
                    : aggregate.oldest_unacknowledged;
  }
  if (oldest && settings_.ack == AckClass::kRegion) {
    if (now >= *oldest + settings_.ack_max_delay) {
      journal(effects);
    } else {
      effects.wake_at(*oldest + settings_.ack_max_delay);
    }
  }
  offer_nothing(now, effects);
}

bool Aggregator::closable(const OpenAggregate& aggregate, TimePoint now, Effects& effects) const {
  if (aggregate.kind == PushKind::kInitial) return true;
  if (aggregate.round <= state_.head().round) return true;  // late: never waits
  if (everyone_done(aggregate.round)) return true;
  const TimePoint until = aggregate.opened_at + patience();
  if (now >= until) return true;
  effects.wake_at(until);
  return false;
}

void Aggregator::mark_durable(const OpenAggregate& aggregate) {
  for (const Member& member : aggregate.members) {
    records::AcceptedPush& last = durable_.workers[member.id.worker];
    const records::AcceptedPush candidate{member.id.incarnation, member.id.sequence};
    if (std::pair(candidate.incarnation, candidate.last) > std::pair(last.incarnation, last.last))
      last = candidate;
  }
}

void Aggregator::close(Round round, Effects& effects) {
  auto node = open_.extract(round);
  OpenAggregate& aggregate = node.mapped();
  const SequenceNo sequence = durable_.next_sequence;
  Item& item = items_[sequence];
  item.contribution = aggregate.close(state_.layout(), settings_.contribution_codec);
  ContributionHeader& header = item.contribution.header;
  header.region = place_.self;
  header.incarnation = place_.incarnation;
  header.sequence = sequence;
  header.shard = state_.shard();
  item.encoded_header = share(header.encode());

  // Item in, journal out, worker table on: one batch, durable before the first send.
  Batch batch;
  batch.put(Family::kOutbox, records::outbox_key(state_.shard(), sequence),
            records::encode_contribution(item.contribution));
  durable_.next_sequence = sequence.next();
  mark_durable(aggregate);
  if (journaled_) write_journal(batch);
  batch.put(Family::kMeta, records::meta_key('w', state_.shard()),
            records::encode_workers(durable_));
  batch.sync = settings_.ack != AckClass::kMemory;
  effects.write(std::move(batch));
  item.unacknowledged = std::move(aggregate.unacknowledged);
  if (settings_.ack == AckClass::kRegion) acknowledge(item.unacknowledged, effects);
  offer_next(effects);
}

// The record must hold every aggregate that it held before and that is still open.
void Aggregator::write_journal(Batch& batch) {
  journaled_ = !open_.empty();
  if (open_.empty()) return batch.erase(Family::kOutbox, records::journal_key(state_.shard()));
  for (const auto& [round, aggregate] : open_) mark_durable(aggregate);
  batch.put(Family::kOutbox, records::journal_key(state_.shard()), encode_journal(open_));
}

void Aggregator::journal(Effects& effects) {
  Batch batch;
  write_journal(batch);
  batch.put(Family::kMeta, records::meta_key('w', state_.shard()),
            records::encode_workers(durable_));
  batch.sync = true;
  effects.write(std::move(batch));
  for (auto& [round, aggregate] : open_) acknowledge(aggregate.unacknowledged, effects);
}

void Aggregator::acknowledge(std::vector<PushId>& ids, Effects& effects) {
  for (const PushId& id : ids) reply(id, PushOutcome::kAcknowledged, effects);
  ids.clear();
}

void Aggregator::offer_next(Effects& effects) {
  Item* item = first_unnamed();
  if (item == nullptr || !leader_) return;
  effects.send(place_.leader, Offer{*leader_, item->encoded_header, item->contribution.payloads});
}

// Nothing comes from this region for the announced round: everybody skipped, or half a window has
// passed.
void Aggregator::offer_nothing(TimePoint now, Effects& effects) {
  if (!leader_ || said_nothing_ || announced_ == Round() || announced_ <= state_.head().round ||
      open_.contains(announced_))
    return;
  for (const auto& [sequence, item] : items_) {
    if (!item.named && item.contribution.header.round >= announced_) return;
  }
  const TimePoint until = announced_at_ + window_ / 2;
  if (!everyone_done(announced_) && now < until) return effects.wake_at(until);
  said_nothing_ = true;
  effects.send(place_.leader, EmptyOffer{state_.shard(), *leader_, place_.self, announced_});
}

}  // namespace godwit
