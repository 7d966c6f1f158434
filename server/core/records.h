// Records: the keys and values that a region server stores (design, section 8). One place for the format.
//   log       shard|version|0|block -> encoded update       shard|version|1 -> encoded entry header (commit record)
//   inputs    shard|version|index   -> contribution
//   outbox    shard|0|sequence      -> contribution         shard|1 -> journal of the open aggregates
//   pushes    shard|worker|incarnation|sequence -> version, verdict
//   snapshot  shard|id|block        -> version, values, velocity
//   meta      'p' shard -> producers   'w' shard -> workers   's' shard -> complete snapshots   'e' shard -> epoch
//             'c' shard -> pins        'm' -> manifest        'i' -> incarnation of this data directory
//             'r' -> incarnation of its replicas, once they were renewed
// Numbers in keys are big-endian, so that key order is number order; values are little-endian.
#pragma once

#include <map>
#include <utility>
#include <vector>

#include "server/core/store.h"
#include "shared/protocol/entry.h"
#include "shared/protocol/messages.h"

namespace godwit::records {

Bytes payload_key(ShardId shard, Version version, std::uint32_t block);
Bytes commit_key(ShardId shard, Version version);
Bytes log_begin(ShardId shard, Version version);  // first key of a version; also an exclusive end
Bytes input_key(ShardId shard, Version version, std::uint32_t index);
Bytes inputs_begin(ShardId shard, Version version);
Bytes outbox_key(ShardId shard, SequenceNo sequence);
Bytes journal_key(ShardId shard);
Bytes push_key(ShardId shard, const PushId& id);
Bytes pushes_begin(ShardId shard);
Bytes snapshot_key(ShardId shard, std::uint64_t id, std::uint32_t block);
Bytes snapshots_begin(ShardId shard, std::uint64_t id);
Bytes meta_key(char tag, ShardId shard);
Bytes meta_key(char tag);

// A contribution whole: header and payloads, checked against the header's checksums when read back.
Bytes encode_contribution(const Contribution& contribution);
Result<Contribution> decode_contribution(ByteView bytes);

Bytes encode_push_record(Version version, Verdict verdict);
Result<std::pair<Version, Verdict>> decode_push_record(ByteView bytes);
Result<PushId> decode_push_key(ByteView key);

// producer -> (last sequence, version that named it); state at a version.
struct Producer {
  SequenceNo last;
  Version version;
  bool operator==(const Producer&) const = default;
};
using ProducerId = std::pair<RegionId, Incarnation>;
using Producers = std::map<ProducerId, Producer>;
Bytes encode_producers(const Producers& producers);
Result<Producers> decode_producers(ByteView bytes);

// What this region accepted from its workers: worker -> (incarnation, last sequence); with it the region's
// next contribution sequence.
struct AcceptedPush {
  Incarnation incarnation;
  SequenceNo last;
  bool operator==(const AcceptedPush&) const = default;
};
struct WorkerTable {
  SequenceNo next_sequence{1};
  std::map<WorkerId, AcceptedPush> workers;
};
Bytes encode_workers(const WorkerTable& table);
Result<WorkerTable> decode_workers(ByteView bytes);

struct SnapshotBlock {
  Version version;
  std::vector<float> values;
  std::vector<float> velocity;  // empty on followers
};
Bytes encode_snapshot_block(Version version, std::span<const float> values, std::span<const float> velocity);
Result<SnapshotBlock> decode_snapshot_block(ByteView bytes);

struct SnapshotHead {
  std::uint64_t id = 0;  // from 1
  Version oldest;        // lowest version of its blocks: replay starts after it
  Version newest;        // highest: what it can be replayed to
  bool operator==(const SnapshotHead&) const = default;
};
Bytes encode_snapshots(const std::vector<SnapshotHead>& snapshots);
Result<std::vector<SnapshotHead>> decode_snapshots(ByteView bytes);

// A version that a checkpoint names, and the entry that it is on every log of the shard.
struct Pin {
  Version version;
  Hash entry;
  bool operator==(const Pin&) const = default;
};
Bytes encode_pins(const std::vector<Pin>& pins);
Result<std::vector<Pin>> decode_pins(ByteView bytes);

Bytes encode_u64(std::uint64_t value);
Result<std::uint64_t> decode_u64(ByteView bytes);

// The entry at a version, header decoded and payloads attached; nullopt when not retained. Errors: kCorrupt
// with the version and what was lost.
Result<std::optional<Entry>> read_entry(const StoreReader& store, ShardId shard, Version version);
// Adds the payload records to `payloads` and the commit record to `commit`.
void write_entry(const Entry& entry, Batch& payloads, Batch& commit);
// The push records that an entry names, to `batch`.
void write_named_pushes(const EntryHeader& header, Batch& batch);
Entry make_entry(EntryHeader header, std::vector<SharedBytes> payloads);

}  // namespace godwit::records
