#include "server/core/shard_record.h"

#include "shared/base/byte_stream.h"

namespace godwit {

bool ShardRecord::has_member(RegionId region, Incarnation incarnation) const {
  const auto found = in_sync.find(region);
  return found != in_sync.end() && found->second == incarnation;
}

ShardRecord ShardRecord::led_by(RegionId next) const {
  return {next, epoch.next(), epoch.next(), in_sync};
}

std::optional<ShardRecord> ShardRecord::without(RegionId region) const {
  ShardRecord next = *this;
  next.in_sync.erase(region);
  if (next.in_sync.empty()) return std::nullopt;
  return next.led_by(next.in_sync.begin()->first);
}

Bytes ShardRecord::encode() const {
  ByteWriter out;
  out.put(leader);
  out.put(epoch);
  out.put(since);
  for (const auto& [region, incarnation] : in_sync) {
    out.put(region);
    out.put(incarnation);
  }
  return out.take();
}

Result<ShardRecord> ShardRecord::decode(ByteView bytes) {
  ByteReader in(bytes);
  ShardRecord record;
  in.get(record.leader);
  in.get(record.epoch);
  in.get(record.since);
  while (!in.failed() && in.remaining() > 0) {
    const auto region = in.get<RegionId>();
    const auto incarnation = in.get<Incarnation>();
    record.in_sync.emplace(region, incarnation);
  }
  if (in.failed() || !record.in_sync.contains(record.leader)) {
    return Error{Errc::kCorrupt, "control store: the record of a shard's leader does not parse"};
  }
  return record;
}

Result<std::optional<ShardRecord>> claim_at_start(const HeldRecord& held, RegionId first,
                                                  RegionId self, Incarnation incarnation,
                                                  bool memory_only) {
  using Claim = std::optional<ShardRecord>;
  if (held.revision == Revision()) {
    return first == self ? Claim({self, Epoch(1), Epoch(1), {{self, incarnation}}}) : Claim();
  }
  ShardRecord next = held.record;
  if (next.leader != self) return Claim();
  next.epoch = next.epoch.next();
  if (next.has_member(self, incarnation)) return Claim(std::move(next));
  if (Claim other = held.record.without(self)) return other;
  if (memory_only)
    return Claim({self, next.epoch, next.since, {{self, incarnation}}});  // it promised nothing
  return Error{Errc::kUnavailable,
               "this region held the only replica in sync, in a data directory that is not this "
               "one: put that "
               "directory back"};
}

ControlRequest swap_record(ShardId shard, const ShardRecord& next, Revision expected) {
  ControlRequest request;
  request.kind = ControlKind::kCompareAndSwap;
  request.key = control_keys::shard_leader(shard);
  request.expected_revision = expected;
  request.value = next.encode();
  return request;
}

}  // namespace godwit
