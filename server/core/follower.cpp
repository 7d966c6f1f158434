#include "server/core/follower.h"

#include <algorithm>

#include "shared/base/checksum.h"
#include "shared/codec/codec.h"

namespace godwit {

bool Follower::follow(RegionId leader, Epoch epoch, Effects& effects) {
  if (stale(epoch, effects)) return false;
  if (leader != place_.leader) matched_ = false;
  place_.leader = leader;
  learn_epoch(epoch, effects);
  return true;
}

void Follower::on_lead(RegionId from, const Lead& lead, Effects& effects) {
  if (follow(from, lead.epoch, effects)) subscribe(effects);
}

void Follower::subscribe(Effects& effects) {
  matched_ = false;
  effects.send(place_.leader, Subscribe{state_.shard(), place_.self, place_.incarnation, place_.epoch,
                                        state_.version(), state_.head_hash()});
}

bool Follower::stale(Epoch epoch, Effects& effects) const {
  if (epoch >= place_.epoch) return false;
  effects.notice(Notice::Kind::kStaleEpoch, state_.shard(),
                 "epoch " + to_string(epoch) + " is older than " + to_string(place_.epoch));
  return true;
}

void Follower::learn_epoch(Epoch epoch, Effects& effects) {
  if (epoch <= place_.epoch) return;
  place_.epoch = epoch;
  Batch batch;
  batch.put(Family::kMeta, records::meta_key('e', state_.shard()),
            records::encode_u64(epoch.value()));
  batch.sync = true;  // an older leader must stay refused after a restart
  effects.write(std::move(batch));
}

void Follower::report(Effects& effects) const {
  effects.send(place_.leader, Replicated{state_.shard(), place_.self, place_.epoch,
                                         state_.version(), state_.head_hash()});
}

void Follower::raise_watermark(Version watermark) {
  if (!matched_) return;
  place_.watermark = std::max(place_.watermark, std::min(watermark, state_.version()));
}

bool Follower::on_subscribed(const Subscribed& subscribed, Effects& effects) {
  if (stale(subscribed.epoch, effects)) return false;
  learn_epoch(subscribed.epoch, effects);
  matched_ = subscribed.matched;
  raise_watermark(subscribed.watermark);
  return true;
}

void Follower::on_replicate(const Replicate& replicate, Effects& effects) {
  const Entry& entry = replicate.entry;
  if (stale(replicate.epoch, effects) || entry.header.epoch > replicate.epoch) return;
  learn_epoch(replicate.epoch, effects);
  if (entry.header.version <= state_.version())
    return raise_watermark(replicate.watermark);  // a repetition
  if (entry.header.version != state_.version().next() ||
      entry.header.previous != state_.head_hash()) {
    effects.notice(Notice::Kind::kForked, state_.shard(),
                   "version " + to_string(entry.header.version) + " does not extend " +
                       to_string(state_.version()));
    return subscribe(effects);
  }
  if (const Result<void> applied = apply(entry); !applied) {
    effects.notice(Notice::Kind::kRefused, state_.shard(), applied.error().to_string());
    return;  // the link is closed by the shell's integrity checks; a reconnect fetches it again
  }
  Batch payloads, commit;
  records::write_entry(entry, payloads, commit);
  records::write_named_pushes(entry.header, commit);
  commit.put(Family::kMeta, records::meta_key('p', state_.shard()),
             records::encode_producers(state_.producers()));
  commit.sync = settings_.ack != AckClass::kMemory;
  effects.write(std::move(payloads));
  effects.write(std::move(commit));
  log_.append(entry);
  matched_ = true;  // it extends our tail by hash
  raise_watermark(replicate.watermark);
  effects.notice(Notice::Kind::kApplied, state_.shard(), "",
                 static_cast<double>(entry.header.version.value()));
  report(effects);
}

Result<void> Follower::apply(const Entry& entry) {
  const EntryHeader& header = entry.header;
  const std::string where =
      "version " + to_string(header.version) + " of shard " + to_string(header.shard);
  if (!header.blocks.empty() && (header.blocks.size() != state_.block_count() ||
                                 entry.payloads.size() != state_.block_count())) {
    return Error{Errc::kMalformed, where + ": wrong number of blocks"};
  }
  for (std::uint32_t block = 0; block < header.blocks.size(); ++block) {
    if (checksum(view(entry.payloads[block])) != header.blocks[block].checksum) {
      return Error{Errc::kCorrupt,
                   where + " block " + std::to_string(block) + ": damaged on the way"};
    }
  }
  for (std::uint32_t block = 0; block < header.blocks.size(); ++block) {
    Result<void> applied =
        state_.apply_block(header.kind, block, header.blocks[block].codec, view(entry.payloads[block]));
    if (!applied) return applied;
  }
  return state_.advance(entry);
}

void Follower::on_watermark(const Watermark& watermark, Effects& effects) {
  if (!stale(watermark.epoch, effects)) raise_watermark(watermark.watermark);
}

bool Follower::on_install(const Install& install, Effects& effects) {
  if (stale(install.epoch, effects)) return false;
  learn_epoch(install.epoch, effects);
  const Snapshot& snapshot = install.snapshot;
  Result<EntryHeader> header = view(snapshot.entry).empty()
                                   ? Result<EntryHeader>(EntryHeader{})
                                   : EntryHeader::decode(view(snapshot.entry));
  Result<records::Producers> producers = records::decode_producers(
      snapshot.producers.empty() ? ByteView() : ByteView(snapshot.producers.front()));
  if (!header || !producers || snapshot.blocks.size() != state_.block_count()) return false;
  header->shard = state_.shard();

  Batch batch;
  const ShardId shard = state_.shard(), end = state_.shard().next();
  batch.erase_range(Family::kInputs, records::inputs_begin(shard, Version()), records::inputs_begin(end, Version()));
  batch.erase_range(Family::kPushes, records::pushes_begin(shard), records::pushes_begin(end));
  Retention retention = retention_;  // kept when the whole snapshot is known to decode
  const std::uint64_t id = retention.replace(header->version, store_, batch);
  for (std::uint32_t block = 0; block < state_.block_count(); ++block) {
    std::vector<float> values(state_.values(block).size());
    if (!decode_block(kSnapshotCodec, view(snapshot.blocks[block]), values)) return false;
    state_.load_block(block, values, {});
    batch.put(Family::kSnapshot, records::snapshot_key(shard, id, block),
              records::encode_snapshot_block(header->version, values, {}));
  }
  for (const NamedPush& push : snapshot.pushes) {
    batch.put(Family::kPushes, records::push_key(shard, push.id),
              records::encode_push_record(push.version, push.verdict));
  }
  if (header->version != Version())
    batch.put(Family::kLog, records::commit_key(shard, header->version), snapshot.entry);
  batch.put(Family::kMeta, records::meta_key('p', shard), records::encode_producers(*producers));
  batch.sync = true;
  state_.load_head(std::move(*header), snapshot.entry, std::move(*producers));
  log_.clear();
  retention_ = std::move(retention);
  matched_ = true;
  place_.watermark = std::min(std::max(place_.watermark, install.watermark), state_.version());
  effects.write(std::move(batch));
  report(effects);
  return true;
}

}  // namespace godwit
