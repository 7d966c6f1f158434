// Messages: what workers, region servers and leaders say to each other, as plain values.
// shared/wire turns them into bytes, cores produce and consume them. `payloads` are the large
// parts, by reference. A message that names a shard and an epoch is stamped with the epoch that its
// sender knows; a receiver that knows a higher one answers kWrongEpoch and changes nothing.
#pragma once

#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "shared/protocol/entry.h"
#include "shared/protocol/manifest.h"
#include "shared/protocol/push.h"

namespace godwit {

// ---- worker -> its region's server
// -----------------------------------------------------------------------

// The model a worker wants to train. The first one in a run is kept (compare-and-swap in the
// control store).
struct ManifestOffer {
  Manifest manifest;
};
// The worker holds the model and starts to train: from now on rounds wait for it.
struct Join {
  float weight = 0;
};  // b: tokens per step
// The worker stops: rounds no longer wait for it.
struct Leave {};
struct Push {
  PushHeader header;
  std::vector<SharedBytes> payloads;
};  // one per block of the shard
// At the boundary of `round` this shard's last push was still unnamed: nothing comes from this
// worker.
struct Skip {
  ShardId shard;
  Round round;
};
// Asks for (have, now]. Waits up to wait_ms for a version above `have`.
struct Pull {
  ShardId shard;
  Version have;                   // 0: nothing yet
  Hash have_hash;                 // entry hash of `have`; unknown hash means a fork
  std::optional<PushId> pending;  // the worker's unnamed push, if any
  std::uint32_t wait_ms = 0;
};

// ---- region server -> worker
// -----------------------------------------------------------------------------

struct ManifestReply {
  std::optional<Manifest> manifest;
  Errc error = Errc::kInternal;
  std::string detail;
};
enum class PushOutcome : std::uint8_t {
  kAcknowledged =
      1,            // as the run's acknowledgement class promises; also the answer to a repetition
  kOverloaded = 2,  // a limit is full: send the same push again after retry_after_ms
  kRefused = 3,     // never accepted: `reason` says why; nothing of it will be named
};
struct PushReply {
  ShardId shard;
  PushId id;
  PushOutcome outcome = PushOutcome::kAcknowledged;
  Errc reason = Errc::kInternal;
  std::string detail;
  std::uint32_t retry_after_ms = 0;
  Incarnation newest{};  // refused as of an older process: the newest process of this worker; else 0
};
enum class PullOutcome : std::uint8_t { kNotModified = 1, kEntries = 2, kSnapshot = 3 };
struct NamedPush {
  PushId id;
  Version version;
  Verdict verdict = Verdict::kApplied;
};
// A replica's whole state at one version: to first joiners, readers far behind, and forked
// replicas.
struct Snapshot {
  SharedBytes entry;             // encoded header of the entry at that version
  std::vector<Bytes> producers;  // encoded producer records (server/core/records.h), for replicas
  std::vector<SharedBytes> blocks;  // P, per block, encoded with kSnapshotCodec
  std::vector<NamedPush> pushes;    // record of named pushes, for replicas
};
inline constexpr CodecSpec kSnapshotCodec{CodecId::kFp32, true};
struct PullReply {
  ShardId shard;
  PullOutcome outcome = PullOutcome::kNotModified;
  std::vector<Entry> entries;        // kEntries: (have, last], dense
  std::optional<Snapshot> snapshot;  // kSnapshot
  std::optional<NamedPush> named;    // kSnapshot: where the pending push was named, if it was
};
// Round `round` is closed: push what you have at your next step boundary, labelled with it. A hint.
struct Announce {
  ShardId shard;
  Epoch epoch;
  Round round;
  std::uint32_t window_ms = 0;
};
// The run was stopped by an operator, or the server is going away.
struct Stop {
  std::string reason;
};

// ---- region server -> leader
// -----------------------------------------------------------------------------

struct Subscribe {
  ShardId shard;
  RegionId region;
  Incarnation incarnation;  // of the replica: what the in-sync set holds
  Epoch epoch;
  Version have;
  Hash have_hash;
};
struct Offer {
  Epoch epoch;
  SharedBytes header;
  std::vector<SharedBytes> payloads;
};  // header: encoded ContributionHeader
struct EmptyOffer {
  ShardId shard;
  Epoch epoch;
  RegionId region;
  Round round;
};  // nothing up to this round
struct Replicated {
  ShardId shard;
  RegionId region;
  Epoch epoch;
  Version version;
  Hash hash;
};  // durable here
struct Presence {
  ShardId shard;
  RegionId region;
  std::uint32_t workers = 0;  // active ones
  double weight = 0;          // sum of their b
  float step_seconds = 0;     // median
};

// ---- leader -> region server
// -----------------------------------------------------------------------------

// Whoever hears of a new epoch subscribes; sent when a leader begins, and to each region that connects.
struct Lead {
  ShardId shard;
  Epoch epoch;
};
struct Subscribed {
  ShardId shard;
  Epoch epoch;
  Version head;
  Version watermark;
  bool matched = false;  // the subscriber's version is on this log; if not, Install follows
};
struct Replicate {
  ShardId shard;
  Epoch epoch;
  Version watermark;
  Entry entry;
};
struct Watermark {
  ShardId shard;
  Epoch epoch;
  Version watermark;
};
struct Install {
  ShardId shard;
  Epoch epoch;
  Version watermark;
  Snapshot snapshot;
};  // truncate and reload
enum class OfferOutcome : std::uint8_t {
  kAccepted = 1,
  kDuplicate = 2,
  kExpect = 3,
  kWrongEpoch = 4
};
struct OfferReply {
  ShardId shard;
  Epoch epoch;
  SequenceNo sequence;  // the one offered
  OfferOutcome outcome = OfferOutcome::kAccepted;
  Version included;     // kDuplicate: named there
  SequenceNo expected;  // kExpect
};

using Message = std::variant<ManifestOffer, Join, Leave, Push, Skip, Pull, ManifestReply, PushReply,
                             PullReply, Announce, Stop, Subscribe, Offer, EmptyOffer, Replicated,
                             Presence, Lead, Subscribed, Replicate, Watermark, Install, OfferReply>;

}  // namespace godwit
