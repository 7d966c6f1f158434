#include "server/core/retention.h"

#include <map>
#include <set>

namespace godwit {

// Snapshots by id, and sections of the log: first version -> last one.
struct Retention::Kept {
  std::set<std::uint64_t> snapshots;
  std::map<Version, Version> log;

  void add(const records::SnapshotHead& base, Version through) {
    snapshots.insert(base.id);
    Version& last = log[base.oldest];
    last = std::max(last, through);
  }
};

Result<Retention> Retention::load(const StoreReader& store, ShardId shard) {
  Retention retention;
  retention.shard_ = shard;
  const auto read = [&](char tag, auto decode, auto& into) -> Result<void> {
    Result<std::optional<Bytes>> bytes = store.get(Family::kMeta, records::meta_key(tag, shard));
    if (!bytes) return bytes.error();
    if (!*bytes) return {};
    auto decoded = decode(**bytes);
    if (!decoded) return decoded.error();
    into = std::move(*decoded);
    return {};
  };
  if (auto loaded = read('s', records::decode_snapshots, retention.snapshots_); !loaded)
    return loaded.error();
  if (auto loaded = read('c', records::decode_pins, retention.pins_); !loaded)
    return loaded.error();
  return retention;
}

records::SnapshotHead Retention::base(Version version) const {
  records::SnapshotHead base;
  for (const records::SnapshotHead& snapshot : snapshots_) {
    if (snapshot.newest <= version) base = snapshot;
  }
  return base;
}

Result<void> Retention::keeps(const records::Pin& pin, const StoreReader& store) const {
  const records::SnapshotHead from = base(pin.version);
  const Version first = from.oldest == Version() ? Version(1) : from.oldest;
  Hash entry;
  for (Version version = first; version <= pin.version; version = version.next()) {
    const Result<std::optional<Bytes>> commit =
        store.get(Family::kLog, records::commit_key(shard_, version));
    if (!commit) return commit.error();
    if (!*commit) return Error{Errc::kNotFound, "version " + to_string(version) + " is not kept"};
    entry = entry_hash(**commit);
  }
  if (entry != pin.entry)
    return Error{Errc::kConflict, "version " + to_string(pin.version) + " is of another log"};
  return {};
}

void Retention::keep_pinned(const records::Pin& pin, Kept& kept) const {
  kept.add(base(pin.version), pin.version);
}

Retention::Kept Retention::wanted(const RunSettings& settings) const {
  const std::uint64_t oldest = newest().oldest.value();
  const Version window(oldest - std::min(oldest, settings.log_retained_versions));
  Kept kept;
  for (const records::Pin& pin : pins_) keep_pinned(pin, kept);
  kept.add(base(window), Version(UINT64_MAX));
  for (const records::SnapshotHead& later : snapshots_) {
    if (later.newest > window) kept.snapshots.insert(later.id);
  }
  return kept;
}

void Retention::add(records::SnapshotHead snapshot, const RunSettings& settings, Batch& batch) {
  snapshots_.push_back(snapshot);
  keep(wanted(settings), true, batch);
  // Recovery replays from here on; everything up to it is in the snapshot.
  batch.erase_range(Family::kInputs, records::inputs_begin(shard_, Version()),
                    records::inputs_begin(shard_, snapshot.oldest.next()));
}

std::uint64_t Retention::replace(Version version, const StoreReader& store, Batch& batch) {
  const std::uint64_t id = newest().id + 1;
  Kept kept;
  for (const records::Pin& pin : pins_) {
    // Our own entry of that version may be of the tail that goes.
    const Result<std::optional<Bytes>> entry =
        store.get(Family::kLog, records::commit_key(shard_, pin.version));
    if (entry && *entry && entry_hash(**entry) == pin.entry) keep_pinned(pin, kept);
  }
  keep(kept, false, batch);
  snapshots_.push_back({id, version, version});
  batch.put(Family::kMeta, records::meta_key('s', shard_), records::encode_snapshots(snapshots_));
  return id;
}

void Retention::pin(std::vector<records::Pin> pins, const RunSettings& settings, Batch& batch) {
  if (pins == pins_) return;
  pins_ = std::move(pins);
  batch.put(Family::kMeta, records::meta_key('c', shard_), records::encode_pins(pins_));
  keep(wanted(settings), true, batch);
}

// Erases what lies between; also what follows, unless the `tail` stays.
void Retention::keep(const Kept& kept, bool tail, Batch& batch) {
  const auto erase_log = [&](Version from, const Bytes& end) {
    batch.erase_range(Family::kLog, records::log_begin(shard_, from), end);
  };
  Version next;
  for (const auto& [first, last] : kept.log) {
    if (first > next) erase_log(next, records::log_begin(shard_, first));
    next = std::max(next, last == Version(UINT64_MAX) ? last : last.next());
  }
  if (!tail) erase_log(next, records::log_begin(shard_.next(), Version()));
  std::uint64_t free = 0;
  for (const std::uint64_t id : kept.snapshots) {
    if (id > free) {
      batch.erase_range(Family::kSnapshot, records::snapshots_begin(shard_, free),
                        records::snapshots_begin(shard_, id));
    }
    free = id + 1;
  }
  if (!tail) {
    batch.erase_range(Family::kSnapshot, records::snapshots_begin(shard_, free),
                      records::snapshots_begin(shard_.next(), 0));
  }
  std::erase_if(snapshots_,
                [&](const records::SnapshotHead& one) { return !kept.snapshots.contains(one.id); });
  batch.put(Family::kMeta, records::meta_key('s', shard_), records::encode_snapshots(snapshots_));
}

}  // namespace godwit
