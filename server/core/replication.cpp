#include "server/core/replication.h"

#include <algorithm>

#include "shared/codec/codec.h"

namespace godwit {

Replication::Replication(const RunSettings& settings, const ShardState& state, const EntryLog& log,
                         const StoreReader& store, RegionId self, Epoch epoch, Version watermark,
                         TimePoint now)
    : settings_(settings),
      state_(state),
      log_(log),
      store_(store),
      self_(self),
      epoch_(epoch),
      watermark_(watermark) {
  for (std::uint32_t region = 0; region < settings.regions; ++region) {
    if (RegionId(region) != self) followers_[RegionId(region)].gone_since = now;
  }
}

void Replication::begin(Effects& effects) {
  first_ = state_.version();
  for (const auto& [region, follower] : followers_) on_connected(region, effects);
}

void Replication::on_connected(RegionId region, Effects& effects) const {
  effects.send(region, Lead{state_.shard(), epoch_});
}

void Replication::on_subscribe(const Subscribe& subscribe, Effects& effects) {
  const auto found = followers_.find(subscribe.region);
  if (found == followers_.end()) return;
  Follower& follower = found->second;
  follower = Follower{subscribe.incarnation, true, {}, subscribe.have, subscribe.have, Version()};
  const Result<std::optional<Hash>> ours = subscribe.have > state_.version()
                                               ? Result<std::optional<Hash>>(std::nullopt)
                                               : log_.hash_at(subscribe.have);
  const bool matched = ours && *ours && **ours == subscribe.have_hash;
  effects.send(subscribe.region,
               Subscribed{state_.shard(), epoch_, state_.version(), watermark_, matched});
  if (matched) {
    follower.replicated = subscribe.have;
  } else {
    effects.notice(Notice::Kind::kForked, state_.shard(),
                   "region " + to_string(subscribe.region) + " at version " +
                       to_string(subscribe.have) +
                       " is not on this log (or older than it): reloads from a snapshot");
    install(subscribe.region, effects);
  }
  pump(effects);
}

void Replication::on_replicated(const Replicated& replicated, Effects& effects) {
  const auto found = followers_.find(replicated.region);
  if (found == followers_.end() || replicated.version > state_.version()) return;
  const Result<std::optional<Hash>> ours = log_.hash_at(replicated.version);
  if (!ours || !*ours || **ours != replicated.hash)
    return;  // not this log: its next subscribe settles it
  found->second.replicated = std::max(found->second.replicated, replicated.version);
  move_watermark(effects);
}

void Replication::on_drained(RegionId region, Version version) {
  const auto found = followers_.find(region);
  if (found != followers_.end()) found->second.drained = std::max(found->second.drained, version);
}

void Replication::on_disconnected(RegionId region, TimePoint now) {
  const auto found = followers_.find(region);
  if (found == followers_.end() || !found->second.connected) return;
  found->second.connected = false;
  found->second.gone_since = now;
}

void Replication::pump(Effects& effects) {
  move_watermark(effects);
  for (auto& [region, follower] : followers_) {
    if (!follower.connected || follower.drained < follower.sent ||
        follower.sent >= state_.version())
      continue;
    const Result<std::optional<Entry>> entry = log_.find(follower.sent.next());
    if (!entry) effects.notice(Notice::Kind::kDamaged, state_.shard(), entry.error().to_string());
    if (!entry || !*entry) {
      install(region, effects);
      continue;
    }
    follower.sent = follower.sent.next();
    effects.send(region, Replicate{state_.shard(), epoch_, watermark_, **entry});
  }
}

void Replication::set_in_sync(InSync held, InSync proposed, Effects& effects) {
  held_ = std::move(held);
  proposed_ = std::move(proposed);
  move_watermark(effects);
}

bool Replication::holds(const Follower& follower, Version version) const {
  return follower.connected && follower.replicated >= version;
}

InSync Replication::wanted(TimePoint now, Effects& effects) const {
  InSync wanted = held_;
  for (const auto& [region, follower] : followers_) {
    const auto member = held_.find(region);
    if (member == held_.end()) {
      // Not the watermark alone: the leader before may have moved it further than this one knows.
      if (holds(follower, std::max(watermark_, first_))) wanted[region] = follower.incarnation;
    } else if (follower.connected) {
      if (follower.incarnation != member->second)
        wanted.erase(region);  // it came back without its disk
    } else if (now >= follower.gone_since + settings_.lease) {
      wanted.erase(region);
    } else {
      effects.wake_at(follower.gone_since + settings_.lease);
    }
  }
  return wanted;
}

bool Replication::drained() const {
  return std::all_of(followers_.begin(), followers_.end(), [this](const auto& item) {
    return !item.second.connected || item.second.drained >= state_.version();
  });
}

void Replication::install(RegionId region, Effects& effects) {
  Result<Snapshot> snapshot = make_snapshot(state_, store_, true);
  if (!snapshot) {  // it cannot follow until it asks again
    effects.notice(Notice::Kind::kDamaged, state_.shard(), snapshot.error().to_string());
    followers_[region].connected = false;
    return;
  }
  followers_[region].sent = state_.version();
  effects.send(region, Install{state_.shard(), epoch_, watermark_, std::move(*snapshot)});
}

void Replication::move_watermark(Effects& effects) {
  Version lowest = state_.version();
  for (const InSync* set : {&held_, &proposed_}) {
    for (const auto& [region, incarnation] : *set) {
      if (region == self_) continue;
      const auto follower = followers_.find(region);
      const bool known =
          follower != followers_.end() && follower->second.incarnation == incarnation;
      lowest = std::min(lowest, known ? follower->second.replicated : Version());
    }
  }
  if (lowest <= watermark_ || held_.empty()) return;
  watermark_ = lowest;
  for (const auto& [region, follower] : followers_) {
    if (follower.connected) effects.send(region, Watermark{state_.shard(), epoch_, watermark_});
  }
}

Result<Snapshot> make_snapshot(const ShardState& state, const StoreReader& store,
                               bool for_replica) {
  Snapshot snapshot;
  snapshot.entry = state.head_encoded();
  for (std::uint32_t block = 0; block < state.block_count(); ++block) {
    snapshot.blocks.push_back(share(encode_block(kSnapshotCodec, state.values(block))));
  }
  if (!for_replica) return snapshot;
  snapshot.producers.push_back(records::encode_producers(state.producers()));
  Result<void> scanned = store.scan(
      Family::kPushes, records::pushes_begin(state.shard()),
      records::pushes_begin(state.shard().next()), [&snapshot](ByteView key, ByteView value) {
        const Result<PushId> id = records::decode_push_key(key);
        const auto record = records::decode_push_record(value);
        if (id && record) snapshot.pushes.push_back({*id, record->first, record->second});
        return true;
      });
  if (!scanned) return scanned.error();
  return snapshot;
}

}  // namespace godwit
