// Entry: one version of one shard. Its header holds every scalar that its arithmetic used, so that a replay
// evaluates no policy. The encoded header is what is hashed, stored, sent to followers and served to workers.
#pragma once

#include <cstdint>
#include <vector>

#include "shared/protocol/push.h"

namespace godwit {

enum class EntryKind : std::uint8_t {
  kInitial = 1,    // P := the values of an initial push
  kRound = 2,      // G = sum S / sum b, outer step
  kLate = 3,       // one late contribution: G = S / B x staleness weight, past the momentum buffer
  kRefused = 4,    // names a contribution that was refused; P unchanged
  kMode = 5,       // mode and mode_epoch take effect; P unchanged
  kPromotion = 6,  // a follower became leader; moments zero, P unchanged
  kRestore = 7,    // a checkpoint was restored: P := the values that the payloads hold; moments zero
};
enum class Outer : std::uint8_t { kNone = 0, kSgd = 1, kNesterov = 2 };

// A contribution as the entry names it.
struct Named {
  RegionId region;
  Incarnation incarnation;
  SequenceNo sequence;
  Round round;
  Verdict verdict = Verdict::kApplied;
  double staleness_rounds = 0;  // weight committed since its base / round weight
  float factor = 1;             // by staleness; 1 inside a round
  std::vector<Member> members;
  bool operator==(const Named&) const = default;
};

struct LiveRegion {
  RegionId region;
  double weight = 0;  // sum of b over its active workers
  bool operator==(const LiveRegion&) const = default;
};

struct BlockUpdate {
  CodecSpec codec;
  std::uint32_t bytes = 0;  // of the encoded update
  Hash checksum;            // of the encoded update
  Hash state;               // block_hash of P after it
  bool operator==(const BlockUpdate&) const = default;
};

struct EntryHeader {
  ShardId shard;
  Version version;
  Epoch epoch;
  RegionId leader;             // who committed it
  Hash previous;               // entry_hash of version - 1; 0 for version 1
  EntryKind kind = EntryKind::kRound;
  Round round;                 // highest round committed on this shard, this entry included
  Mode mode = Mode::kAsync;
  ModeEpoch mode_epoch;
  std::uint32_t sync_steps = 0;  // H of the sync mode, as the operator set it with the mode
  RestoreEpoch restore_epoch;  // of the last restore: what was trained on an older model is discarded
  Regime regime = Regime::kFresh;
  Outer outer = Outer::kNone;  // what this entry's arithmetic used
  float learning_rate = 0;
  float momentum = 0;
  bool zero_velocity = false;  // the momentum buffer was zeroed before this entry
  float inverse_weight = 0;    // factor on the sum: 1 / sum b, or staleness weight / B
  double round_weight = 0;     // B
  std::uint32_t median_steps = 0;  // of the round's members: what the rule on H looked at
  std::vector<LiveRegion> live;    // membership of the round
  std::vector<Named> contributions;  // in summation order: by region, then sequence
  double total_weight = 0;     // weight committed so far, this entry included
  std::uint64_t total_tokens = 0;  // the token clock, this entry included
  std::vector<BlockUpdate> blocks;  // one per block of the shard, or none when P is unchanged

  // REQUIRES: finite scalars. What decode() would refuse must never be committed.
  Bytes encode() const;
  // Errors: kMalformed, kUnsupported (format or codec).
  static Result<EntryHeader> decode(ByteView bytes);
  bool operator==(const EntryHeader&) const = default;
};

// The momentum buffer starts from zero after it.
inline bool resets_moments(EntryKind kind) { return kind == EntryKind::kPromotion || kind == EntryKind::kRestore; }

Hash entry_hash(ByteView encoded_header);

// An entry as it is passed around: encoded once, shared by everyone.
struct Entry {
  EntryHeader header;
  SharedBytes encoded;                // header.encode()
  Hash hash;                          // entry_hash(*encoded)
  std::vector<SharedBytes> payloads;  // one per header.blocks
};

}  // namespace godwit
