#include "server/core/shard_core.h"

#include "shared/base/check.h"

namespace godwit {
namespace {

// A visitor that takes what it names and ignores the rest: roles were checked at the door.
template <class... Handlers>
struct Dispatch : Handlers... {
  using Handlers::operator()...;
};
template <class... Handlers>
Dispatch(Handlers...) -> Dispatch<Handlers...>;

}  // namespace

Result<std::unique_ptr<ShardCore>> ShardCore::open(const RunSettings& settings,
                                                   const StoreReader& store,
                                                   const ShardLayout& layout, Place place,
                                                   TimePoint now) {
  const Epoch epoch = place.held.record.epoch;
  Result<Recovered> recovered = recover_shard(
      store, place.shard, layout, place.leads ? std::optional(place.self) : std::nullopt);
  if (!recovered) return recovered.error();
  Result<Aggregator::Stored> stored = Aggregator::load(store, place.shard, layout);
  if (!stored) return stored.error();
  const Epoch seen = recovered->epoch;
  const Outer last_outer = recovered->last_outer;
  if (place.leads && epoch <= seen) {
    return Error{Errc::kWrongEpoch, "the control store granted epoch " + to_string(epoch) +
                                        " but this shard has seen " + to_string(seen)};
  }
  std::unique_ptr<ShardCore> core(new ShardCore(settings, store, std::move(*recovered), place));
  const RegionId leader = place.held.record.leader;
  if (place.leads) {
    core->leader_.emplace(settings, core->state_, core->log_, store,
                          Leader::Place{place.self, epoch, Version(), last_outer,
                                        place.held.record.since, place.held.record.in_sync},
                          now);
  } else {
    core->follower_.emplace(
        settings, core->state_, core->log_, core->retention_, store,
        Follower::Place{place.self, place.replica, leader, std::max(seen, epoch), Version()});
  }
  core->aggregator_.emplace(
      settings, core->state_,
      Aggregator::Place{place.self, leader, place.incarnation, place.manifest}, std::move(*stored),
      now);
  return core;
}

ShardCore::ShardCore(const RunSettings& settings, const StoreReader& store, Recovered recovered,
                     Place place)
    : settings_(settings),
      store_(store),
      place_(std::move(place)),
      state_(std::move(recovered.state)),
      log_(place_.shard, store, settings.entry_cache_bytes),
      retention_(std::move(recovered.retention)),
      snapshotter_(settings, state_, retention_),
      puller_(settings, state_, log_, store),
      published_(state_.version()),
      replayed_(recovered.replayed) {}

void ShardCore::start(TimePoint now, Effects& effects) {
  // Which outbox items are named is in the recovered producer table.
  aggregator_->on_reload(now, watermark(), effects);
  if (leader_) {
    aggregator_->on_leader(place_.self, leader_->epoch(), now, effects);
    leader_->begin(now, effects);
  }
  settle(now, effects);
}

// ---- who leads
// ----------------------------------------------------------------------------------------

void ShardCore::on_record(const HeldRecord& held, TimePoint now, Effects& effects) {
  if (held.revision <= place_.held.revision) return;  // answers and watches come late, and twice
  place_.held = held;
  const ShardRecord& record = held.record;
  const bool ours = proposal_ && held.revision > proposal_->expected && record == proposal_->next;
  if (proposal_ && held.revision > proposal_->expected) proposal_.reset();
  if (leader_ && record.epoch > leader_->epoch()) step_down(record.leader, record.epoch, effects);
  if (leader_) {
    effects.notice(Notice::Kind::kInSync, place_.shard, "",
                   static_cast<double>(record.in_sync.size()));
    leader_->set_in_sync(record.in_sync, proposal_ ? proposal_->next.in_sync : InSync(), effects);
  } else if (record.leader != place_.self) {
    follow(record.leader, record.epoch, effects);
  } else if (ours && record.epoch > follower_->epoch()) {
    lead(now, effects);
  }
  settle(now, effects);
}

// The epoch in the record is this process's own.
void ShardCore::lead(TimePoint now, Effects& effects) {
  const Version watermark = follower_->watermark();
  follower_.reset();
  state_.keep_velocity(true);
  leader_.emplace(settings_, state_, log_, store_,
                  Leader::Place{place_.self, place_.held.record.epoch, watermark, Outer::kNone,
                                place_.held.record.since, place_.held.record.in_sync},
                  now);
  aggregator_->on_leader(place_.self, leader_->epoch(), now, effects);
  leader_->begin(now, effects);
  leader_->set_mode(mode_, now, effects);
  tell_restore(now, effects);
}

// What it had accepted and not committed is offered again, to the next one.
void ShardCore::step_down(RegionId leader, Epoch epoch, Effects& effects) {
  const Follower::Place place{place_.self, place_.replica, leader, leader_->epoch(),
                              leader_->watermark()};
  effects.notice(Notice::Kind::kDeposed, place_.shard,
                 "region " + to_string(leader) + " leads in epoch " + to_string(epoch));
  leader_.reset();
  proposal_.reset();
  state_.keep_velocity(false);
  follower_.emplace(settings_, state_, log_, retention_, store_, place);
  follow(leader, epoch, effects);
}

void ShardCore::follow(RegionId leader, Epoch epoch, Effects& effects) {
  const bool other = leader != follower_->leader() || epoch != follower_->epoch();
  if (!follower_->follow(leader, epoch, effects) || !other) return;
  aggregator_->on_leader_lost();
}

void ShardCore::propose_to_lead(TimePoint now, Effects& effects) {
  const ShardRecord& record = place_.held.record;
  if (leader_ || proposal_) return;
  GODWIT_REQUIRE(record.has_member(place_.self, place_.replica),
                 "only members of the in-sync set lead");
  propose(record.led_by(place_.self), now, effects);
}

void ShardCore::propose(ShardRecord next, TimePoint now, Effects& effects) {
  proposal_ = {std::move(next), place_.held.revision, now + settings_.lease / 2};
  effects.control(swap_record(place_.shard, proposal_->next, proposal_->expected));
  effects.wake_at(proposal_->resend_at);
}

// A leader asks again for the very same change until it knows what came of it: the watermark must
// wait for whom the set may hold. A follower lets go: if its change happens yet, it is taken for an
// operator's wish.
void ShardCore::keep_record(TimePoint now, Effects& effects) {
  if (proposal_ && now >= proposal_->resend_at) {
    if (leader_) effects.control(swap_record(place_.shard, proposal_->next, proposal_->expected));
    if (leader_) proposal_->resend_at = now + settings_.lease / 2;
    if (!leader_) proposal_.reset();
  }
  if (proposal_) return effects.wake_at(proposal_->resend_at);
  if (leader_) return keep_in_sync(now, effects);
  // Named as the leader without an epoch of this process: an operator's wish, or what an older
  // process began.
  if (record().leader != place_.self || place_.held.revision == Revision()) return;
  if (record().has_member(place_.self, place_.replica)) return propose_to_lead(now, effects);
  if (std::optional<ShardRecord> next = record().without(place_.self))
    propose(std::move(*next), now, effects);
}

void ShardCore::keep_in_sync(TimePoint now, Effects& effects) {
  InSync wanted = leader_->wanted_in_sync(now, effects);
  if (wanted == place_.held.record.in_sync) return;
  ShardRecord next = record();
  next.in_sync = std::move(wanted);
  propose(std::move(next), now, effects);
  leader_->set_in_sync(place_.held.record.in_sync, proposal_->next.in_sync, effects);
}

// ---- events
// -------------------------------------------------------------------------------------------

void ShardCore::on_message(RegionId from, const Message& message, TimePoint now, Effects& effects) {
  const auto* lead = std::get_if<Lead>(&message);
  if (leader_ && lead && lead->epoch > leader_->epoch()) step_down(from, lead->epoch, effects);
  if (leader_) {
    to_leader(from, message, now, effects);
  } else {
    to_follower(from, message, now, effects);
  }
  settle(now, effects);
}

void ShardCore::to_leader(RegionId from, const Message& message, TimePoint now, Effects& effects) {
  std::visit(Dispatch{
                 [&](const Subscribe& m) { leader_->on_subscribe(m, now, effects); },
                 [&](const Offer& m) { leader_->on_offer(m, now, effects); },
                 [&](const EmptyOffer& m) { leader_->on_empty_offer(m, now, effects); },
                 [&](const Replicated& m) { leader_->on_replicated(m, effects); },
                 [&](const Presence& m) { leader_->on_presence(m, now, effects); },
                 [&](const OfferReply& m) {
                   if (from == place_.self) aggregator_->on_offer_reply(m, effects);
                 },
                 [](const auto&) {},
             },
             message);
}

void ShardCore::to_follower(RegionId from, const Message& message, TimePoint now,
                            Effects& effects) {
  if (const auto* m = std::get_if<Lead>(&message)) {
    follow(from, m->epoch, effects);
    return follower_->on_lead(from, *m, effects);
  }
  if (from != follower_->leader()) return;
  std::visit(Dispatch{
                 [&](const Subscribed& m) {
                   if (follower_->on_subscribed(m, effects))
                     aggregator_->on_leader(from, m.epoch, now, effects);
                 },
                 [&](const Replicate& m) { follower_->on_replicate(m, effects); },
                 [&](const Watermark& m) { follower_->on_watermark(m, effects); },
                 [&](const Install& m) {
                   if (follower_->on_install(m, effects)) reload(now, effects);
                 },
                 [&](const OfferReply& m) {
                   if (m.outcome == OfferOutcome::kWrongEpoch) return follower_->subscribe(effects);
                   aggregator_->on_offer_reply(m, effects);
                 },
                 [](const auto&) {},
             },
             message);
}

void ShardCore::on_message(WorkerId from, const Message& message, TimePoint now, Effects& effects) {
  std::visit(Dispatch{
                 [&](const Join& m) { aggregator_->on_join(from, m.weight, now, effects); },
                 [&](const Leave&) { aggregator_->on_leave(from, now, effects); },
                 [&](const Push& m) {
                   puller_.on_push(from, m.header.id);
                   aggregator_->on_push(m, now, effects);
                 },
                 [&](const Skip& m) { aggregator_->on_skip(from, m.round, now, effects); },
                 [&](const Pull& m) { puller_.on_pull(from, m, now, effects); },
                 [](const auto&) {},
             },
             message);
  settle(now, effects);
}

void ShardCore::on_announce(Round round, Duration window, TimePoint now, Effects& effects) {
  aggregator_->on_announce(round, window, now, effects);
  settle(now, effects);
}

void ShardCore::on_region_connected(RegionId region, TimePoint, Effects& effects) {
  if (leader_) leader_->on_connected(region, effects);
}

void ShardCore::on_region_disconnected(RegionId region, TimePoint now, Effects& effects) {
  if (leader_) leader_->on_disconnected(region, now, effects);
  if (follower_ && region == follower_->leader()) aggregator_->on_leader_lost();
  settle(now, effects);
}

void ShardCore::on_worker_left(WorkerId worker, TimePoint now, Effects& effects) {
  puller_.on_leave(worker);
  aggregator_->on_leave(worker, now, effects);
  settle(now, effects);
}

void ShardCore::on_drained(RegionId region, Version version, TimePoint now, Effects& effects) {
  if (leader_) leader_->on_drained(region, version, now, effects);
  settle(now, effects);
}

void ShardCore::set_mode(const ModeSetting& setting, TimePoint now, Effects& effects) {
  if (setting.mode_epoch > mode_.mode_epoch) mode_ = setting;  // it may lead later
  if (leader_) leader_->set_mode(setting, now, effects);
  settle(now, effects);
}

void ShardCore::set_restore(const RestoreSetting& setting, TimePoint now, Effects& effects) {
  if (setting.epoch > restore_.epoch) restore_ = setting;  // it may lead later
  tell_restore(now, effects);
  settle(now, effects);
}

void ShardCore::tell_restore(TimePoint now, Effects& effects) {
  const std::size_t index = place_.shard.value();
  if (leader_ && index < restore_.shards.size())
    leader_->restore(restore_.epoch, restore_.shards[index], now, effects);
}

void ShardCore::set_pins(std::vector<records::Pin> pins, Effects& effects) {
  Batch batch;
  retention_.pin(std::move(pins), settings_, batch);
  effects.write(std::move(batch));
}

void ShardCore::on_tick(TimePoint now, Effects& effects) {
  if (leader_) leader_->on_tick(now, effects);
  aggregator_->on_tick(now, effects);
  puller_.advance(now, effects);
  settle(now, effects);
}

void ShardCore::settle(TimePoint now, Effects& effects) {
  const bool moved = published_ != state_.version();
  while (published_ < state_.version()) {
    published_ = published_.next();
    const Result<std::optional<Entry>> entry = log_.find(published_);
    GODWIT_CHECK(entry && *entry, "what was just appended is in the log");
    aggregator_->on_entry((*entry)->header, watermark(), now, effects);
  }
  if (published_watermark_ != watermark()) {
    published_watermark_ = watermark();
    aggregator_->on_watermark(published_watermark_, effects);
  }
  if (moved) puller_.advance(now, effects);
  snapshotter_.advance(watermark(), effects);
  keep_record(now, effects);
}

void ShardCore::reload(TimePoint now, Effects& effects) {
  published_ = state_.version();
  snapshotter_.restart();
  aggregator_->on_reload(now, watermark(), effects);
  effects.wake_at(now);  // pulls are answered from what this event is about to write
}

ShardStatus ShardCore::status() const {
  const EntryHeader& head = state_.head();
  ShardStatus status{place_.shard,
                     leader_region(),
                     leader_.has_value(),
                     head.version,
                     watermark(),
                     epoch(),
                     head.round,
                     head.mode,
                     head.mode_epoch,
                     head.outer,
                     head.median_steps,
                     head.round_weight,
                     head.total_tokens,
                     state_.layout().parameters,
                     aggregator_->outbox_items(),
                     presence().workers,
                     record().in_sync,
                     head.restore_epoch,
                     ""};
  if (leader_) status.waiting_for = leader_->waiting_for();
  return status;
}

Result<records::Pin> ShardCore::settled() const {
  const Result<std::optional<Hash>> entry = log_.hash_at(watermark());
  if (!entry) return entry.error();
  if (watermark() == Version() || !*entry)
    return Error{Errc::kUnavailable, "shard " + to_string(place_.shard) + " has nothing yet that every region holds"};
  return records::Pin{watermark(), **entry};
}

Result<ShardCore::Hashes> ShardCore::hashes(Version version) const {
  Hashes hashes{state_.head_hash(), {}};
  if (version == state_.version()) {
    for (std::uint32_t block = 0; block < state_.block_count(); ++block)
      hashes.blocks.push_back(state_.rehash(block));
    return hashes;
  }
  if (version > state_.version())
    return Error{Errc::kNotFound, "this replica is at version " + to_string(state_.version())};
  const Result<std::optional<Hash>> entry_hash = log_.hash_at(version);
  if (!entry_hash) return entry_hash.error();
  hashes.entry = entry_hash->value_or(Hash());
  for (; version != Version(); version = Version(version.value() - 1)) {
    const Result<std::optional<Entry>> entry = log_.find(version);
    if (!entry) return entry.error();
    if (!*entry)
      return Error{Errc::kNotFound, "version " + to_string(version) + " is not retained"};
    if ((*entry)->header.blocks.empty()) continue;  // it did not change the model
    for (const BlockUpdate& block : (*entry)->header.blocks) hashes.blocks.push_back(block.state);
    return hashes;
  }
  return Error{Errc::kNotFound, "version 0 is empty"};
}

}  // namespace godwit
