#include "server/core/replication.h"

#include <algorithm>

#include "shared/codec/codec.h"

namespace godwit {

Replication::Replication(const ShardState& state, const EntryLog& log, RegionId self, std::uint32_t regions,
                         Epoch epoch, Version watermark, const StoreReader& store)
    : state_(state), log_(log), store_(store), self_(self), epoch_(epoch), watermark_(watermark) {
  for (std::uint32_t region = 0; region < regions; ++region) {
    if (RegionId(region) != self) followers_[RegionId(region)];
  }
  if (followers_.empty()) watermark_ = state_.version();
}

void Replication::on_subscribe(const Subscribe& subscribe, Effects& effects) {
  const auto found = followers_.find(subscribe.region);
  if (found == followers_.end()) return;
  Follower& follower = found->second;
  follower = Follower{true, subscribe.have, subscribe.have, Version()};
  effects.send(subscribe.region, Subscribed{state_.shard(), epoch_, state_.version(), watermark_});
  const Result<std::optional<Hash>> ours =
      subscribe.have > state_.version() ? Result<std::optional<Hash>>(std::nullopt) : log_.hash_at(subscribe.have);
  if (ours && *ours && **ours == subscribe.have_hash) {
    follower.replicated = subscribe.have;
    move_watermark(effects);
  } else {
    effects.notice(Notice::Kind::kForked, state_.shard(),
                   "region " + to_string(subscribe.region) + " at version " + to_string(subscribe.have) +
                       " is not on this log (or older than it): reloads from a snapshot");
    install(subscribe.region, effects);
  }
  pump(effects);
}

void Replication::on_replicated(const Replicated& replicated, Effects& effects) {
  const auto found = followers_.find(replicated.region);
  if (found == followers_.end() || replicated.version > state_.version()) return;
  const Result<std::optional<Hash>> ours = log_.hash_at(replicated.version);
  if (!ours || !*ours || **ours != replicated.hash) return;  // not this log: its next subscribe settles it
  found->second.replicated = std::max(found->second.replicated, replicated.version);
  move_watermark(effects);
}

void Replication::on_drained(RegionId region, Version version) {
  const auto found = followers_.find(region);
  if (found != followers_.end()) found->second.drained = std::max(found->second.drained, version);
}

void Replication::on_disconnected(RegionId region) {
  const auto found = followers_.find(region);
  if (found != followers_.end()) found->second.connected = false;
}

void Replication::pump(Effects& effects) {
  if (followers_.empty()) watermark_ = state_.version();
  for (auto& [region, follower] : followers_) {
    if (!follower.connected || follower.drained < follower.sent || follower.sent >= state_.version()) continue;
    const Result<std::optional<Entry>> entry = log_.find(follower.sent.next());
    if (!entry || !*entry) {
      install(region, effects);
      continue;
    }
    follower.sent = follower.sent.next();
    effects.send(region, Replicate{state_.shard(), epoch_, watermark_, **entry});
  }
}

bool Replication::drained() const {
  return std::all_of(followers_.begin(), followers_.end(), [this](const auto& item) {
    return !item.second.connected || item.second.drained >= state_.version();
  });
}

void Replication::install(RegionId region, Effects& effects) {
  Result<Snapshot> snapshot = make_snapshot(state_, store_, true);
  if (!snapshot) return;  // corrupt store: the notice comes from recovery, nothing is served
  followers_[region].sent = state_.version();
  effects.send(region, Install{state_.shard(), epoch_, watermark_, std::move(*snapshot)});
}

void Replication::move_watermark(Effects& effects) {
  Version lowest = state_.version();
  for (const auto& [region, follower] : followers_) lowest = std::min(lowest, follower.replicated);
  if (lowest <= watermark_) return;
  watermark_ = lowest;
  for (const auto& [region, follower] : followers_) {
    if (follower.connected) effects.send(region, Watermark{state_.shard(), epoch_, watermark_});
  }
}

Result<Snapshot> make_snapshot(const ShardState& state, const StoreReader& store, bool for_replica) {
  Snapshot snapshot;
  snapshot.entry = state.head_encoded();
  for (std::uint32_t block = 0; block < state.block_count(); ++block) {
    snapshot.blocks.push_back(share(encode_block(kSnapshotCodec, state.values(block))));
  }
  if (!for_replica) return snapshot;
  snapshot.producers.push_back(records::encode_producers(state.producers()));
  Result<void> scanned = store.scan(
      Family::kPushes, records::pushes_begin(state.shard()), records::pushes_begin(state.shard().next()),
      [&snapshot](ByteView key, ByteView value) {
        const Result<PushId> id = records::decode_push_key(key);
        const auto record = records::decode_push_record(value);
        if (id && record) snapshot.pushes.push_back({*id, record->first, record->second});
        return true;
      });
  if (!scanned) return scanned.error();
  return snapshot;
}

}  // namespace godwit
