// OpenAggregate: the pushes of one round that a region has accepted and not yet sent: their fixed-order sum
// and who is in it. The journal holds all open ones as one overwritten record.
#pragma once

#include <map>
#include <vector>

#include "server/core/records.h"
#include "shared/base/time.h"
#include "shared/protocol/manifest.h"
#include "shared/protocol/push.h"

namespace godwit {

struct OpenAggregate {
  PushKind kind = PushKind::kPseudoGradient;
  Round round;
  Version base_version;           // lowest of the applied members, as are the two below
  double base_weight = 0;
  RestoreEpoch restore_epoch;
  std::vector<Member> members;    // in summation order
  std::vector<float> sum;         // of b x clip x d, flat over the shard
  TimePoint opened_at{};
  std::vector<PushId> unacknowledged;
  TimePoint oldest_unacknowledged{};  // meaningful while unacknowledged is not empty

  // S += (b x clip) x d, and the push becomes a member.
  void add(const PushHeader& push, std::span<const float> values, float clip);
  // It was trained on a model that a restore has replaced: a member, but not in the sum.
  void add_discarded(const PushHeader& push, std::size_t parameters);
  // The same for every member so far.
  void discard();
  bool sums_anything() const;
  // The immutable contribution: one encoded block per block of the shard, none if it sums nothing.
  Contribution close(const ShardLayout& layout, CodecSpec codec) const;

 private:
  void begin(const PushHeader& push, std::size_t parameters);
};

Bytes encode_journal(const std::map<Round, OpenAggregate>& open);
Result<std::map<Round, OpenAggregate>> decode_journal(ByteView bytes, std::uint64_t parameters);

}  // namespace godwit
