#include "server/core/recovery.h"

#include <algorithm>

namespace godwit {
namespace {

class Replay {
 public:
  Replay(const StoreReader& store, Recovered& out, std::optional<RegionId> leads)
      : store_(store), out_(out), leads_(leads) {}
  // Replays no further than this version.
  void stop_at(Version version) { until_ = version; }

  Result<void> load_snapshot() {
    Result<Retention> retention = Retention::load(store_, shard());
    if (!retention) return retention.error();
    out_.retention = std::move(*retention);
    base_ = until_ ? out_.retention.base(*until_) : out_.retention.newest();
    const auto blocks = out_.state.block_count();
    block_versions_.assign(blocks, Version());
    for (std::uint32_t block = 0; base_.id != 0 && block < blocks; ++block) {
      Result<std::optional<Bytes>> bytes =
          store_.get(Family::kSnapshot, records::snapshot_key(shard(), base_.id, block));
      if (!bytes) return bytes.error();
      if (!*bytes) return corrupt("snapshot block " + std::to_string(block) + " is missing");
      Result<records::SnapshotBlock> loaded = records::decode_snapshot_block(**bytes);
      if (!loaded) return loaded.error();
      if (loaded->values.size() != out_.state.values(block).size()) {
        return corrupt("snapshot block " + std::to_string(block) +
                       " has another size than the manifest says");
      }
      out_.state.load_block(block, loaded->values, loaded->velocity);
      block_versions_[block] = loaded->version;
    }
    return {};
  }

  // Inputs are there from the version on that this region began to lead with; what an older lead of
  // its own left may be gone.
  Result<void> find_own_entries() {
    if (!leads_) return {};
    for (Version version = base_.oldest.next();; version = version.next()) {
      Result<std::optional<EntryHeader>> header = read_header(version);
      if (!header) return header.error();
      if (!*header) return {};
      if ((*header)->leader != *leads_ || (*header)->kind == EntryKind::kPromotion)
        own_after_ = version;
    }
  }

  Result<void> replay_log() {
    Version version = base_.oldest;
    std::optional<Entry> head;
    if (version != Version()) {  // the commit record at the snapshot's oldest version is retained
      Result<std::optional<EntryHeader>> header = read_header(version);
      if (!header) return header.error();
      if (!*header && until_) return not_kept();
      if (!*header)
        return corrupt("commit record of version " + to_string(version) + " is missing");
      head = records::make_entry(std::move(**header), {});
    }
    for (; version != until_; version = version.next()) {
      Result<std::optional<Entry>> entry = records::read_entry(store_, shard(), version.next());
      if (!entry) return entry.error();
      if (!*entry) break;
      if (head && (*entry)->header.previous != head->hash)
        return corrupt("broken hash chain after " + to_string(version));
      if (Result<void> applied = replay(**entry); !applied) return applied;
      head = std::move(**entry);
      ++out_.replayed;
    }
    if (until_ && version != *until_) return not_kept();
    for (const Version block_version : block_versions_) {
      if (block_version > version) return corrupt("a snapshot block is newer than the log");
    }
    auto producers = read(records::meta_key('p', shard()), records::decode_producers);
    if (!producers) return producers.error();
    if (head) {
      out_.state.load_head(head->header, head->encoded,
                           *producers ? std::move(**producers) : records::Producers());
    }
    return {};
  }

  Result<void> load_scalars() {
    auto epoch = read(records::meta_key('e', shard()), records::decode_u64);
    if (!epoch) return epoch.error();
    out_.epoch = std::max(Epoch(epoch->value_or(0)), out_.state.head().epoch);
    return find_last_outer();
  }

  template <class T>
  Result<std::optional<T>> read(const Bytes& key, Result<T> (*decode)(ByteView)) const {
    Result<std::optional<Bytes>> bytes = store_.get(Family::kMeta, key);
    if (!bytes) return bytes.error();
    if (!*bytes) return std::optional<T>();
    Result<T> value = decode(**bytes);
    if (!value) return value.error();
    return std::optional<T>(std::move(*value));
  }

 private:
  ShardId shard() const { return out_.state.shard(); }
  Error corrupt(std::string what) const {
    return Error{Errc::kCorrupt, "shard " + to_string(shard()) + ": " + std::move(what)};
  }

  Result<void> replay(const Entry& entry) {
    const EntryHeader& header = entry.header;
    if (!header.blocks.empty() && header.blocks.size() != block_versions_.size()) {
      return corrupt("version " + to_string(header.version) + " has " + std::to_string(header.blocks.size()) +
                     " blocks, the manifest says " + std::to_string(block_versions_.size()));
    }
    std::vector<Contribution> inputs;
    const bool own = leads_ && header.version > own_after_ && header.kind != EntryKind::kRestore;
    if (own && !header.blocks.empty()) {
      if (Result<void> loaded = load_inputs(header, inputs); !loaded) return loaded;
    }
    for (std::uint32_t block = 0; block < header.blocks.size(); ++block) {
      if (header.version <= block_versions_[block]) continue;
      const BlockUpdate& update = header.blocks[block];
      if (own) {
        if (update.codec.id == CodecId::kNone)
          return corrupt("version " + to_string(header.version) + " block " + std::to_string(block) + " has no codec");
        const Result<Bytes> again = out_.state.step_block(header, inputs, block, update.codec);
        if (!again) return corrupt(again.error().context);
        if (*again != *entry.payloads[block])
          return differs(header.version, block, "the replayed update");
      } else if (Result<void> applied =
                     out_.state.apply_block(header.kind, block, update.codec, view(entry.payloads[block]));
                 !applied) {
        return corrupt("version " + to_string(header.version) + " block " + std::to_string(block) + ": " +
                       applied.error().context);
      }
      if (out_.state.block_state(block) != update.state)
        return differs(header.version, block, "the replayed state");
    }
    for (std::uint32_t block = 0;
         resets_moments(header.kind) && block < block_versions_.size(); ++block) {
      if (header.version > block_versions_[block]) out_.state.zero_velocity(block);
    }
    return {};
  }

  Error not_kept() const {
    return Error{Errc::kNotFound, "shard " + to_string(shard()) + ": version " + to_string(*until_) +
                                      " is not kept here (any more)"};
  }

  // What a disk damages is found by checksums: this was computed otherwise.
  Error differs(Version version, std::uint32_t block, const std::string& what) const {
    return Error{Errc::kInternal, "shard " + to_string(shard()) + ": " + what + " of version " + to_string(version) +
                                      " block " + std::to_string(block) +
                                      " differs from the log: another build, or a machine that computes otherwise"};
  }

  // Exactly those that the entry names: a commit that a crash cut short may have left more under
  // its version.
  Result<void> load_inputs(const EntryHeader& header, std::vector<Contribution>& inputs) const {
    const Version version = header.version;
    const auto count = static_cast<std::uint32_t>(header.contributions.size());
    Result<void> decoded;
    Result<void> scanned =
        store_.scan(Family::kInputs, records::inputs_begin(shard(), version),
                    records::input_key(shard(), version, count), [&](ByteView, ByteView value) {
                      Result<Contribution> input = records::decode_contribution(value);
                      if (!input) decoded = corrupt(input.error().context);
                      if (input) inputs.push_back(std::move(*input));
                      return decoded.has_value();
                    });
    if (!scanned) return scanned;
    if (!decoded) return decoded;
    if (inputs.size() != count)
      return corrupt("inputs of version " + to_string(version) + " are missing");
    return {};
  }

  Result<std::optional<EntryHeader>> read_header(Version version) const {
    Result<std::optional<Bytes>> commit =
        store_.get(Family::kLog, records::commit_key(shard(), version));
    if (!commit) return commit.error();
    if (!*commit) return std::optional<EntryHeader>();
    Result<EntryHeader> header = EntryHeader::decode(**commit);
    if (!header)
      return corrupt("commit record of version " + to_string(version) + ": " +
                     header.error().context);
    return std::optional<EntryHeader>(std::move(*header));
  }

  // The optimizer of the last round decides whether the momentum buffer must be zeroed.
  Result<void> find_last_outer() {
    for (Version version = out_.state.version(); version != Version();
         version = Version(version.value() - 1)) {
      Result<std::optional<EntryHeader>> header = read_header(version);
      if (!header) return header.error();
      if (!*header || resets_moments((*header)->kind)) return {};
      if ((*header)->kind != EntryKind::kRound || (*header)->outer == Outer::kNone) continue;
      out_.last_outer = (*header)->outer;
      return {};
    }
    return {};
  }

  const StoreReader& store_;
  Recovered& out_;
  std::optional<RegionId> leads_;
  std::optional<Version> until_;
  records::SnapshotHead base_;
  Version own_after_;
  std::vector<Version> block_versions_;
};

}  // namespace

Result<Recovered> recover_shard(const StoreReader& store, ShardId shard, const ShardLayout& layout,
                                std::optional<RegionId> leads) {
  Recovered recovered{ShardState(shard, layout, leads.has_value()), {}, {}, Outer::kNone, 0};
  Replay replay(store, recovered, leads);
  if (Result<void> loaded = replay.load_snapshot(); !loaded) return loaded.error();
  if (Result<void> found = replay.find_own_entries(); !found) return found.error();
  if (Result<void> replayed = replay.replay_log(); !replayed) return replayed.error();
  if (Result<void> scalars = replay.load_scalars(); !scalars) return scalars.error();
  return recovered;
}

Result<ShardState> rebuild(const StoreReader& store, ShardId shard, const ShardLayout& layout, Version version) {
  Recovered recovered{ShardState(shard, layout, false), {}, {}, Outer::kNone, 0};
  Replay replay(store, recovered, std::nullopt);
  replay.stop_at(version);
  if (Result<void> loaded = replay.load_snapshot(); !loaded) return loaded.error();
  if (Result<void> replayed = replay.replay_log(); !replayed) return replayed.error();
  return std::move(recovered.state);
}

}  // namespace godwit
