// ShardRecord: what the cluster agrees on about one shard: who leads it, in which epoch, and which
// replicas hold everything that the watermark covers. One item of the control store, changed by
// compare-and-swap, so that a set cannot shrink beside a promotion, nor a promotion succeed beside
// a shrinking set.
//
// A member is a region with the incarnation of its replica: one that lost its disk, or was renewed, is
// no member.
#pragma once

#include <map>
#include <optional>

#include "shared/protocol/control_messages.h"

namespace godwit {

using InSync = std::map<RegionId, Incarnation>;

struct ShardRecord {
  RegionId leader;
  Epoch epoch;
  Epoch since;  // of the leader's first start: later ones of the same leader recover its momentum
  InSync in_sync;  // the leader included

  bool has_member(RegionId region, Incarnation incarnation) const;
  // The same under another leader, or under the same one that begins anew.
  ShardRecord led_by(RegionId next) const;
  // Led by another member, since the disk that made this region one is gone; nullopt: there is no
  // other.
  std::optional<ShardRecord> without(RegionId region) const;
  Bytes encode() const;
  // Errors: kCorrupt.
  static Result<ShardRecord> decode(ByteView bytes);
  bool operator==(const ShardRecord&) const = default;
};

// As it was read: the revision is what the next change is compared with. Revision 0: there is none.
struct HeldRecord {
  ShardRecord record;
  Revision revision;
};

// What a region that starts should put in the place of the record that it found, to lead the shard
// in an epoch of its own; nullopt: it follows. If it led and lost its disk, another member is to
// lead. `first` leads where there is no record yet. Errors: kUnavailable, when nobody has what was
// acknowledged.
Result<std::optional<ShardRecord>> claim_at_start(const HeldRecord& held, RegionId first,
                                                  RegionId self, Incarnation incarnation,
                                                  bool memory_only);

ControlRequest swap_record(ShardId shard, const ShardRecord& next, Revision expected);

}  // namespace godwit
