#include "server/core/region_core.h"

#include "shared/base/check.h"

namespace godwit {
namespace {

// The shard that a message is about, where it is about one.
std::optional<ShardId> shard_of(const Message& message) {
  return std::visit(
      [](const auto& m) -> std::optional<ShardId> {
        using T = std::decay_t<decltype(m)>;
        if constexpr (std::is_same_v<T, Push>) {
          return m.header.shard;
        } else if constexpr (std::is_same_v<T, Offer>) {
          const Result<ContributionHeader> header = ContributionHeader::decode(view(m.header));
          return header ? std::optional(header->shard) : std::nullopt;
        } else if constexpr (requires { m.shard; }) {
          return m.shard;
        } else {
          return std::nullopt;
        }
      },
      message);
}

}  // namespace

Result<std::unique_ptr<RegionCore>> RegionCore::open(const RunSettings& settings,
                                                     const StoreReader& store,
                                                     const Manifest& manifest, Place place,
                                                     TimePoint now) {
  std::unique_ptr<RegionCore> core(new RegionCore(settings, Layout(manifest), place));
  GODWIT_REQUIRE(place.records.size() == core->layout_.shards.size() &&
                     place.leads.size() == place.records.size(),
                 "a record for every shard");
  for (std::uint32_t id = 0; id < core->layout_.shards.size(); ++id) {
    Result<std::unique_ptr<ShardCore>> shard =
        ShardCore::open(settings, store, core->layout_.shards[id],
                        {place.self, ShardId(id), place.incarnation, place.replica, manifest.hash(),
                         place.records[id], place.leads[id]},
                        now);
    if (!shard) return shard.error();
    core->shards_.push_back(std::move(*shard));
  }
  return core;
}

Effects RegionCore::start(TimePoint now) {
  Effects effects;
  for (auto& shard : shards_) shard->start(now, effects);
  tell_presence(now, effects);
  keep_lease(now, effects);
  return effects;
}

Effects RegionCore::on_message(RegionId from, const Message& message, TimePoint now) {
  Effects effects;
  if (const auto* hint = std::get_if<Announce>(&message)) {
    announce(*hint, now, effects);
  } else if (const std::optional<ShardId> shard = shard_of(message);
             shard && shard->value() < shards_.size()) {
    shards_[shard->value()]->on_message(from, message, now, effects);
  }
  return effects;
}

Effects RegionCore::on_message(WorkerId from, const Message& message, TimePoint now) {
  Effects effects;
  if (const std::optional<ShardId> shard = shard_of(message)) {
    if (shard->value() < shards_.size())
      shards_[shard->value()]->on_message(from, message, now, effects);
    return effects;
  }
  if (std::holds_alternative<Join>(message)) workers_.insert(from);
  if (std::holds_alternative<Leave>(message)) workers_.erase(from);
  for (auto& shard : shards_) shard->on_message(from, message, now, effects);
  tell_presence(now, effects);
  return effects;
}

Effects RegionCore::on_region_connected(RegionId region, TimePoint now) {
  Effects effects;
  for (auto& shard : shards_) shard->on_region_connected(region, now, effects);
  tell_presence(now, effects);
  return effects;
}

Effects RegionCore::on_region_disconnected(RegionId region, TimePoint now) {
  Effects effects;
  for (auto& shard : shards_) shard->on_region_disconnected(region, now, effects);
  return effects;
}

Effects RegionCore::on_worker_left(WorkerId worker, TimePoint now) {
  Effects effects;
  workers_.erase(worker);
  for (auto& shard : shards_) shard->on_worker_left(worker, now, effects);
  tell_presence(now, effects);
  return effects;
}

Effects RegionCore::on_drained(RegionId region, ShardId shard, Version version, TimePoint now) {
  Effects effects;
  if (shard.value() < shards_.size())
    shards_[shard.value()]->on_drained(region, version, now, effects);
  return effects;
}

Effects RegionCore::on_control(const ControlItem& item, TimePoint now) {
  Effects effects;
  using control_keys::parse_id;
  if (item.key == control_keys::kRunMode) {
    const Result<ModeSetting> mode = ModeSetting::decode(item.value);
    for (auto& shard : shards_) {
      if (mode) shard->set_mode(*mode, now, effects);
    }
  } else if (item.key == control_keys::kRunRestore) {
    const Result<RestoreSetting> restore = RestoreSetting::decode(item.value);
    for (auto& shard : shards_) {
      if (restore) shard->set_restore(*restore, now, effects);
    }
  } else if (item.key == control_keys::kRunCheckpoints) {
    pin(item, effects);
  } else if (const auto shard = parse_id(item.key, control_keys::kShards, "/leader");
             shard && *shard < shards_.size()) {
    Result<ShardRecord> record = ShardRecord::decode(item.value);
    if (record) shards_[*shard]->on_record({std::move(*record), item.revision}, now, effects);
    if (!record) effects.notice(Notice::Kind::kRefused, ShardId(*shard), record.error().context);
  } else if (const auto region = parse_id(item.key, control_keys::kRegions, "/lease")) {
    Revision& newest = leases_[item.key];
    if (item.revision > newest) succession_.on_lease(RegionId(*region), !item.value.empty(), now);
    newest = std::max(newest, item.revision);
  }
  succeed(now, effects);
  return effects;
}

void RegionCore::pin(const ControlItem& item, Effects& effects) {
  const Result<CheckpointList> list = CheckpointList::decode(item.value);
  if (!list || item.revision <= checkpoints_) return;
  checkpoints_ = item.revision;
  for (std::size_t id = 0; id < shards_.size(); ++id) {
    std::vector<records::Pin> pins;
    for (const Checkpoint& checkpoint : list->items) {
      if (id < checkpoint.shards.size()) pins.push_back(checkpoint.shards[id]);
    }
    shards_[id]->set_pins(std::move(pins), effects);
  }
}

Effects RegionCore::on_tick(TimePoint now) {
  Effects effects;
  for (auto& shard : shards_) shard->on_tick(now, effects);
  if (now >= presence_due_) {
    tell_presence(now, effects);
  } else {
    effects.wake_at(presence_due_);
  }
  keep_lease(now, effects);
  succeed(now, effects);
  return effects;
}

void RegionCore::keep_lease(TimePoint now, Effects& effects) {
  if (now >= lease_due_) {
    ControlRequest request;
    request.kind = ControlKind::kLeaseKeepalive;
    request.key = control_keys::region_lease(place_.self);
    request.value = copy(view("region " + to_string(place_.self)));
    request.ttl = settings_.lease;
    effects.control(std::move(request));
    lease_due_ = now + settings_.lease / 4;
  }
  effects.wake_at(lease_due_);
}

void RegionCore::succeed(TimePoint now, Effects& effects) {
  for (auto& shard : shards_) {
    if (shard->leads()) continue;
    const auto due =
        succession_.due(shard->state().shard(), shard->record(), place_.self, place_.replica);
    if (!due) continue;
    if (now >= *due) {
      shard->propose_to_lead(now, effects);
    } else {
      effects.wake_at(*due);
    }
  }
}

void RegionCore::announce(const Announce& announce, TimePoint now, Effects& effects) {
  if (announce.shard != ShardId() || announce.epoch < shards_.front()->epoch()) return;
  for (auto& shard : shards_)
    shard->on_announce(announce.round, milliseconds(announce.window_ms), now, effects);
  for (const WorkerId worker : workers_) effects.send(worker, announce);
}

void RegionCore::tell_presence(TimePoint now, Effects& effects) {
  for (auto& shard : shards_) effects.send(shard->leader_region(), shard->presence());
  presence_due_ = now + kPresenceInterval;
  effects.wake_at(presence_due_);
}

}  // namespace godwit
