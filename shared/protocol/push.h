// What a worker gives its region server, and what a region gives a leader.
#pragma once

#include <cstdint>
#include <vector>

#include "shared/base/byte_stream.h"
#include "shared/base/bytes.h"
#include "shared/base/result.h"
#include "shared/base/strong_id.h"
#include "shared/codec/codec_ids.h"

namespace godwit {

// Named once, as applied, refused or discarded, in a replicated log: that is exactly-once.
struct PushId {
  WorkerId worker;
  Incarnation incarnation;  // one process of the worker
  SequenceNo sequence;      // dense per worker process and shard, from 1
  auto operator<=>(const PushId&) const = default;
};

enum class PushKind : std::uint8_t {
  kInitial = 1,         // the values of a fresh run's model; becomes version 1
  kPseudoGradient = 2,  // anchor minus local after some inner steps
};
enum class Regime : std::uint8_t { kFresh = 1, kMemoryless = 2 };  // kMemoryless: reserved
enum class Verdict : std::uint8_t { kApplied = 1, kRefused = 2, kDiscarded = 3 };
enum class Mode : std::uint8_t { kAsync = 1, kSync = 2 };

struct PushHeader {
  PushId id;
  ShardId shard;
  PushKind kind = PushKind::kPseudoGradient;
  Round round;               // 0 for kInitial
  Version base_version;      // of the anchor
  double base_weight = 0;    // total committed weight at base_version, read from its entry
  RestoreEpoch restore_epoch;  // of the anchor
  std::uint32_t steps = 0;   // inner steps that d holds
  std::uint64_t tokens = 0;  // tokens that d holds
  float weight = 0;          // b: tokens per step
  float step_seconds = 0;    // median duration of the worker's steps: sizes the window
  Hash manifest;
  CodecSpec codec;           // of every block; exact blocks are fp32

  Bytes encode() const;
  // Rejects unknown kinds and codecs, and scalars that are negative or not finite. Errors: kMalformed, kUnsupported.
  static Result<PushHeader> decode(ByteView bytes);
  bool operator==(const PushHeader&) const = default;
};

// A push as its contribution remembers it, in summation order.
struct Member {
  PushId id;
  float weight = 0;          // b
  std::uint32_t steps = 0;
  std::uint64_t tokens = 0;
  float clip = 1;            // factor on d before it was summed
  Verdict verdict = Verdict::kApplied;  // else: named, but not in the sum
  bool operator==(const Member&) const = default;
};

// An aggregate made immutable: what the outbox stores, the WAN carries and the leader keeps as input.
struct ContributionHeader {
  RegionId region;
  Incarnation incarnation;    // of the region's data directory
  SequenceNo sequence;        // dense per region and shard, from 1
  ShardId shard;
  PushKind kind = PushKind::kPseudoGradient;
  Round round;
  Regime regime = Regime::kFresh;
  float beta = 0;             // error feedback decay; reserved (memoryless regime)
  Version base_version;       // lowest of the applied members
  double base_weight = 0;     // the same
  RestoreEpoch restore_epoch; // the same
  std::vector<Member> members;
  // One per block of the shard, or none when no member was applied.
  struct BlockPart {
    CodecSpec codec;
    std::uint32_t bytes = 0;
    Hash checksum;            // of the encoded bytes
    bool operator==(const BlockPart&) const = default;
  };
  std::vector<BlockPart> blocks;

  // Sums over the applied members.
  double weight() const;
  std::uint64_t tokens() const;
  // REQUIRES: finite scalars. What decode() would refuse must never reach the outbox.
  Bytes encode() const;
  // Errors: kMalformed, kUnsupported (format or codec).
  static Result<ContributionHeader> decode(ByteView bytes);
  bool operator==(const ContributionHeader&) const = default;
};

struct Contribution {
  ContributionHeader header;
  std::vector<SharedBytes> payloads;  // one per header.blocks
};

void put(ByteWriter& out, const PushId& id);
void get(ByteReader& in, PushId& id);
void put(ByteWriter& out, const Member& member);
bool get(ByteReader& in, Member& member);  // false: too short, unknown verdict, or a negative or non-finite scalar

}  // namespace godwit
