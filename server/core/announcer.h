// Announcer: the leader of shard 0 closes rounds in aligned async. It announces `round r closed` no sooner
// than a window after the last one and only when the entry of r - 1 has drained. Announcements are hints:
// not logged, resent until every live region has offered.
#pragma once

#include <map>

#include "server/core/effects.h"
#include "server/core/rounds.h"
#include "server/core/settings.h"

namespace godwit {

class Announcer {
 public:
  Announcer(const RunSettings& settings, ShardId shard, Epoch epoch)
      : settings_(settings), shard_(shard), epoch_(epoch) {}

  struct View {
    const std::map<RegionId, RegionOffer>& regions;
    Round committed;
    bool drained = false;
    float step_seconds = 0;  // median over the live regions; 0: unknown
  };
  void advance(const View& view, TimePoint now, Effects& effects);
  // 16 median steps, clamped to the run's limits.
  Duration window(float step_seconds) const;

 private:
  void announce(const View& view, TimePoint now, Effects& effects);

  const RunSettings& settings_;
  ShardId shard_;
  Epoch epoch_;
  Round announced_;
  TimePoint opened_at_{};   // when announced_ was first announced
  TimePoint resend_at_{};
};

}  // namespace godwit
