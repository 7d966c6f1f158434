#include "server/core/records.h"

#include "shared/base/byte_stream.h"
#include "shared/base/checksum.h"

namespace godwit::records {
namespace {

class KeyBuilder {
 public:
  template <std::unsigned_integral T>
  KeyBuilder& put(T value) {
    for (std::size_t i = sizeof(T); i-- > 0;) key_.push_back(static_cast<std::byte>(value >> (8 * i)));
    return *this;
  }
  template <class Tag, class Rep>
  KeyBuilder& put(StrongId<Tag, Rep> id) { return put(id.value()); }
  Bytes take() { return std::move(key_); }

 private:
  Bytes key_;
};

std::uint64_t big_endian(ByteView bytes) {
  std::uint64_t value = 0;
  for (const std::byte byte : bytes) value = value << 8 | static_cast<std::uint64_t>(byte);
  return value;
}

Error corrupt(std::string what) { return Error{Errc::kCorrupt, std::move(what)}; }

void put_floats(ByteWriter& out, std::span<const float> values) {
  out.put(static_cast<std::uint32_t>(values.size()));
  out.put_raw(std::as_bytes(values));
}

std::vector<float> get_floats(ByteReader& in) {
  const ByteView raw = in.take(std::size_t{in.get_count(sizeof(float))} * sizeof(float));
  std::vector<float> values(raw.size() / sizeof(float));
  if (!raw.empty()) std::memcpy(values.data(), raw.data(), raw.size());
  return values;
}

}  // namespace

Bytes payload_key(ShardId shard, Version version, std::uint32_t block) {
  return KeyBuilder().put(shard).put(version).put(std::uint8_t{0}).put(block).take();
}
Bytes commit_key(ShardId shard, Version version) {
  return KeyBuilder().put(shard).put(version).put(std::uint8_t{1}).take();
}
Bytes log_begin(ShardId shard, Version version) { return KeyBuilder().put(shard).put(version).take(); }
Bytes input_key(ShardId shard, Version version, std::uint32_t index) {
  return KeyBuilder().put(shard).put(version).put(index).take();
}
Bytes inputs_begin(ShardId shard, Version version) { return log_begin(shard, version); }
Bytes outbox_key(ShardId shard, SequenceNo sequence) {
  return KeyBuilder().put(shard).put(std::uint8_t{0}).put(sequence).take();
}
Bytes journal_key(ShardId shard) { return KeyBuilder().put(shard).put(std::uint8_t{1}).take(); }
Bytes push_key(ShardId shard, const PushId& id) {
  return KeyBuilder().put(shard).put(id.worker).put(id.incarnation).put(id.sequence).take();
}
Bytes pushes_begin(ShardId shard) { return KeyBuilder().put(shard).take(); }
Bytes snapshot_key(ShardId shard, std::uint64_t id, std::uint32_t block) {
  return KeyBuilder().put(shard).put(id).put(block).take();
}
Bytes snapshots_begin(ShardId shard, std::uint64_t id) { return KeyBuilder().put(shard).put(id).take(); }
Bytes meta_key(char tag, ShardId shard) {
  return KeyBuilder().put(static_cast<std::uint8_t>(tag)).put(shard).take();
}
Bytes meta_key(char tag) { return KeyBuilder().put(static_cast<std::uint8_t>(tag)).take(); }

Bytes encode_contribution(const Contribution& contribution) {
  const Bytes header = contribution.header.encode();
  std::size_t bytes = sizeof(std::uint32_t) + header.size();
  for (const SharedBytes& payload : contribution.payloads) bytes += sizeof(std::uint32_t) + view(payload).size();
  ByteWriter out;
  out.reserve(bytes);
  out.put_bytes(header);
  for (const SharedBytes& payload : contribution.payloads) out.put_bytes(view(payload));
  return out.take();
}

Result<Contribution> decode_contribution(ByteView bytes) {
  ByteReader in(bytes);
  Result<ContributionHeader> header = ContributionHeader::decode(in.get_bytes());
  if (!header) return header.error();
  Contribution contribution{std::move(*header), {}};
  for (const auto& part : contribution.header.blocks) {
    const ByteView payload = in.get_bytes();
    if (in.failed() || payload.size() != part.bytes || checksum(payload) != part.checksum) {
      return corrupt("contribution " + to_string(contribution.header.sequence) + ": a payload fails its checksum");
    }
    contribution.payloads.push_back(share(copy(payload)));
  }
  if (!in.finished()) return corrupt("contribution record: wrong length");
  return contribution;
}

Bytes encode_push_record(Version version, Verdict verdict) {
  ByteWriter out;
  out.put(version);
  out.put(verdict);
  return out.take();
}

Result<std::pair<Version, Verdict>> decode_push_record(ByteView bytes) {
  ByteReader in(bytes);
  const auto version = in.get<Version>();
  const auto verdict = in.get<Verdict>();
  if (!in.finished()) return corrupt("push record: wrong length");
  if (verdict < Verdict::kApplied || verdict > Verdict::kDiscarded) return corrupt("push record: unknown verdict");
  return std::pair(version, verdict);
}

Result<PushId> decode_push_key(ByteView key) {
  if (key.size() != 28) return corrupt("push key: wrong length");
  return PushId{WorkerId(big_endian(key.subspan(4, 8))), Incarnation(big_endian(key.subspan(12, 8))),
                SequenceNo(big_endian(key.subspan(20, 8)))};
}

Bytes encode_producers(const Producers& producers) {
  ByteWriter out;
  out.put(static_cast<std::uint32_t>(producers.size()));
  for (const auto& [id, producer] : producers) {
    out.put(id.first);
    out.put(id.second);
    out.put(producer.last);
    out.put(producer.version);
  }
  return out.take();
}

Result<Producers> decode_producers(ByteView bytes) {
  ByteReader in(bytes);
  Producers producers;
  for (auto count = in.get_count(28); count > 0; --count) {
    const auto region = in.get<RegionId>();
    const auto incarnation = in.get<Incarnation>();
    Producer& producer = producers[{region, incarnation}];
    in.get(producer.last);
    in.get(producer.version);
  }
  if (!in.finished()) return corrupt("producer table: wrong length");
  return producers;
}

Bytes encode_workers(const WorkerTable& table) {
  ByteWriter out;
  out.put(table.next_sequence);
  out.put(static_cast<std::uint32_t>(table.workers.size()));
  for (const auto& [worker, accepted] : table.workers) {
    out.put(worker);
    out.put(accepted.incarnation);
    out.put(accepted.last);
  }
  return out.take();
}

Result<WorkerTable> decode_workers(ByteView bytes) {
  ByteReader in(bytes);
  WorkerTable table;
  in.get(table.next_sequence);
  for (auto count = in.get_count(24); count > 0; --count) {
    AcceptedPush& accepted = table.workers[in.get<WorkerId>()];
    in.get(accepted.incarnation);
    in.get(accepted.last);
  }
  if (!in.finished()) return corrupt("worker table: wrong length");
  return table;
}

Bytes encode_snapshot_block(Version version, std::span<const float> values, std::span<const float> velocity) {
  ByteWriter out;
  out.put(version);
  put_floats(out, values);
  put_floats(out, velocity);
  return out.take();
}

Result<SnapshotBlock> decode_snapshot_block(ByteView bytes) {
  ByteReader in(bytes);
  SnapshotBlock block;
  in.get(block.version);
  block.values = get_floats(in);
  block.velocity = get_floats(in);
  if (!in.finished()) return corrupt("snapshot block: wrong length");
  return block;
}

Bytes encode_snapshots(const std::vector<SnapshotHead>& snapshots) {
  ByteWriter out;
  out.put(static_cast<std::uint32_t>(snapshots.size()));
  for (const SnapshotHead& snapshot : snapshots) {
    out.put(snapshot.id);
    out.put(snapshot.oldest);
    out.put(snapshot.newest);
  }
  return out.take();
}

Result<std::vector<SnapshotHead>> decode_snapshots(ByteView bytes) {
  ByteReader in(bytes);
  std::vector<SnapshotHead> snapshots(in.get_count(24));
  for (SnapshotHead& snapshot : snapshots) {
    in.get(snapshot.id);
    in.get(snapshot.oldest);
    in.get(snapshot.newest);
  }
  if (!in.finished()) return corrupt("list of snapshots: wrong length");
  return snapshots;
}

Bytes encode_pins(const std::vector<Pin>& pins) {
  ByteWriter out;
  out.put(static_cast<std::uint32_t>(pins.size()));
  for (const Pin& pin : pins) {
    out.put(pin.version);
    out.put(pin.entry);
  }
  return out.take();
}

Result<std::vector<Pin>> decode_pins(ByteView bytes) {
  ByteReader in(bytes);
  std::vector<Pin> pins(in.get_count(16));
  for (Pin& pin : pins) {
    in.get(pin.version);
    in.get(pin.entry);
  }
  if (!in.finished()) return corrupt("list of pins: wrong length");
  return pins;
}

Bytes encode_u64(std::uint64_t value) {
  ByteWriter out;
  out.put(value);
  return out.take();
}

Result<std::uint64_t> decode_u64(ByteView bytes) {
  ByteReader in(bytes);
  const auto value = in.get<std::uint64_t>();
  if (!in.finished()) return corrupt("number record: wrong length");
  return value;
}

Result<std::optional<Entry>> read_entry(const StoreReader& store, ShardId shard, Version version) {
  Result<std::optional<Bytes>> commit = store.get(Family::kLog, commit_key(shard, version));
  if (!commit) return commit.error();
  if (!commit->has_value()) return std::optional<Entry>();
  Result<EntryHeader> header = EntryHeader::decode(**commit);
  const std::string where = "log: shard " + to_string(shard) + " version " + to_string(version);
  if (!header) return corrupt(where + ": " + header.error().context);
  Entry entry{std::move(*header), share(std::move(**commit)), Hash(), {}};
  entry.hash = entry_hash(view(entry.encoded));
  for (std::uint32_t block = 0; block < entry.header.blocks.size(); ++block) {
    Result<std::optional<Bytes>> payload = store.get(Family::kLog, payload_key(shard, version, block));
    if (!payload) return payload.error();
    if (!payload->has_value() || checksum(**payload) != entry.header.blocks[block].checksum) {
      return corrupt(where + " block " + std::to_string(block) + ": update missing or damaged");
    }
    entry.payloads.push_back(share(std::move(**payload)));
  }
  return std::optional<Entry>(std::move(entry));
}

void write_entry(const Entry& entry, Batch& payloads, Batch& commit) {
  const EntryHeader& header = entry.header;
  for (std::uint32_t block = 0; block < entry.payloads.size(); ++block) {
    payloads.put(Family::kLog, payload_key(header.shard, header.version, block), entry.payloads[block]);
  }
  commit.put(Family::kLog, commit_key(header.shard, header.version), entry.encoded);
}

void write_named_pushes(const EntryHeader& header, Batch& batch) {
  for (const Named& named : header.contributions) {
    for (const Member& member : named.members) {
      const Verdict verdict = named.verdict == Verdict::kApplied ? member.verdict : named.verdict;
      batch.put(Family::kPushes, push_key(header.shard, member.id), encode_push_record(header.version, verdict));
    }
  }
}

Entry make_entry(EntryHeader header, std::vector<SharedBytes> payloads) {
  Bytes encoded = header.encode();
  const Hash hash = entry_hash(encoded);
  return Entry{std::move(header), share(std::move(encoded)), hash, std::move(payloads)};
}

}  // namespace godwit::records
