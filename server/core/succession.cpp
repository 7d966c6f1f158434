#include "server/core/succession.h"

namespace godwit {

void Succession::on_lease(RegionId region, bool held, TimePoint now) {
  const auto [known, first] = vacant_since_.try_emplace(region);
  if (held) {
    known->second.reset();
  } else if (first) {
    known->second =
        now + lease_;  // the whole cluster may be starting: that region gets its time to appear
  } else if (!known->second) {
    known->second = now;
  }
}

bool Succession::held(RegionId region) const {
  const auto known = vacant_since_.find(region);
  return known != vacant_since_.end() && !known->second;
}

std::optional<TimePoint> Succession::due(ShardId shard, const ShardRecord& record, RegionId self,
                                         Incarnation incarnation) const {
  const auto leader = vacant_since_.find(record.leader);
  if (record.leader == self || leader == vacant_since_.end() || !leader->second)
    return std::nullopt;
  if (!record.has_member(self, incarnation)) return std::nullopt;
  std::uint32_t candidates = 0, place = 0;
  for (const auto& [region, ignored] : record.in_sync) {
    if (region == self) place = candidates;
    if (region == self || held(region)) ++candidates;
  }
  const std::uint32_t turn = (place + shard.value()) % candidates;
  return *leader->second + (turn + 1) * (lease_ / 4);
}

}  // namespace godwit
