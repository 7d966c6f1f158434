#include "server/core/shard_core.h"

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
  const bool leads = place.won_epoch.has_value();
  Result<Recovered> recovered = recover_shard(store, place.shard, layout, leads);
  if (!recovered) return recovered.error();
  Result<Aggregator::Stored> stored = Aggregator::load(store, place.shard, layout);
  if (!stored) return stored.error();
  const Epoch seen = recovered->epoch;
  const Version watermark = recovered->watermark;
  const Outer last_outer = recovered->last_outer;
  if (leads && *place.won_epoch <= seen) {
    return Error{Errc::kWrongEpoch, "the control store granted epoch " +
                                        to_string(*place.won_epoch) + " but this shard has seen " +
                                        to_string(seen)};
  }
  std::unique_ptr<ShardCore> core(new ShardCore(settings, store, std::move(*recovered), place));
  if (leads) {
    core->leader_.emplace(settings, core->state_, core->log_, store,
                          Leader::Place{place.self, *place.won_epoch, watermark, last_outer}, now);
  } else {
    core->follower_.emplace(settings, core->state_, core->log_,
                            Follower::Place{place.self, place.leader, seen, watermark});
  }
  core->aggregator_.emplace(
      settings, core->state_,
      Aggregator::Place{place.self, place.leader, place.incarnation, place.manifest},
      std::move(*stored), now);
  return core;
}

ShardCore::ShardCore(const RunSettings& settings, const StoreReader& store, Recovered recovered,
                     Place place)
    : place_(place),
      state_(std::move(recovered.state)),
      log_(place.shard, store, settings.entry_cache_bytes),
      snapshotter_(settings, state_, recovered.snapshot),
      puller_(settings, state_, log_, store),
      published_(state_.version()),
      replayed_(recovered.replayed) {}

void ShardCore::start(TimePoint now, Effects& effects) {
  aggregator_->on_reload(
      now, watermark(),
      effects);  // which outbox items are named is in the recovered producer table
  if (leader_) {
    aggregator_->on_leader(leader_->epoch(), now, effects);
    leader_->on_tick(now, effects);
  }
  settle(now, effects);
}

void ShardCore::on_message(RegionId from, const Message& message, TimePoint now, Effects& effects) {
  if (leader_) {
    std::visit(Dispatch{
                   [&](const Subscribe& m) { leader_->on_subscribe(m, now, effects); },
                   [&](const Offer& m) { leader_->on_offer(m, now, effects); },
                   [&](const EmptyOffer& m) { leader_->on_empty_offer(m, now, effects); },
                   [&](const Replicated& m) { leader_->on_replicated(m, effects); },
                   [&](const Presence& m) { leader_->on_presence(m, now, effects); },
                   [&](const OfferReply& m) { aggregator_->on_offer_reply(m, effects); },
                   [](const auto&) {},
               },
               message);
  } else if (from == place_.leader) {
    std::visit(Dispatch{
                   [&](const Subscribed& m) {
                     if (follower_->on_subscribed(m, effects))
                       aggregator_->on_leader(m.epoch, now, effects);
                   },
                   [&](const Replicate& m) { follower_->on_replicate(m, effects); },
                   [&](const Watermark& m) { follower_->on_watermark(m, effects); },
                   [&](const Install& m) {
                     if (follower_->on_install(m, effects)) reload(now, effects);
                   },
                   [&](const OfferReply& m) {
                     if (m.outcome == OfferOutcome::kWrongEpoch)
                       return follower_->subscribe(effects);
                     aggregator_->on_offer_reply(m, effects);
                   },
                   [](const auto&) {},
               },
               message);
  }
  settle(now, effects);
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
  if (follower_ && region == place_.leader) follower_->subscribe(effects);
}

void ShardCore::on_region_disconnected(RegionId region, TimePoint now, Effects& effects) {
  if (leader_) leader_->on_disconnected(region, now, effects);
  if (follower_ && region == place_.leader) aggregator_->on_leader_lost();
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
  if (leader_) leader_->set_mode(setting, now, effects);
  settle(now, effects);
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
}

void ShardCore::reload(TimePoint now, Effects& effects) {
  published_ = state_.version();
  snapshotter_.restart({state_.version().value(), state_.version()});
  aggregator_->on_reload(now, watermark(), effects);
  effects.wake_at(now);  // pulls are answered from what this event is about to write
}

ShardStatus ShardCore::status() const {
  const EntryHeader& head = state_.head();
  ShardStatus status{place_.shard,
                     place_.leader,
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
                     ""};
  if (leader_) status.waiting_for = leader_->waiting_for();
  return status;
}

Result<std::vector<Hash>> ShardCore::block_hashes(Version version) const {
  std::vector<Hash> hashes;
  if (version == state_.version()) {
    for (std::uint32_t block = 0; block < state_.block_count(); ++block)
      hashes.push_back(state_.rehash(block));
    return hashes;
  }
  if (version > state_.version())
    return Error{Errc::kNotFound, "this replica is at version " + to_string(state_.version())};
  for (; version != Version(); version = Version(version.value() - 1)) {
    const Result<std::optional<Entry>> entry = log_.find(version);
    if (!entry) return entry.error();
    if (!*entry)
      return Error{Errc::kNotFound, "version " + to_string(version) + " is not retained"};
    if ((*entry)->header.blocks.empty()) continue;  // it did not change the model
    for (const BlockUpdate& block : (*entry)->header.blocks) hashes.push_back(block.state);
    return hashes;
  }
  return Error{Errc::kNotFound, "version 0 is empty"};
}

}  // namespace godwit
