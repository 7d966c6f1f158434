// Rounds: the commit rule quorum(K = all live regions, grace), as a pure decision that says why. `sync` and
// `async aligned` share it; they differ in who labels the pushes and in whether workers wait.
#pragma once

#include <map>
#include <optional>
#include <string>

#include "shared/base/strong_id.h"
#include "shared/base/time.h"

namespace godwit {

struct RegionOffer {
  bool awaited = false;          // has active workers and its lease; in async also a link
  std::optional<Round> pending;  // label of its contribution that waits here
  Round empty_through;           // it said it has nothing up to this round
};

struct RoundQuestion {
  std::map<RegionId, RegionOffer> regions;
  Round committed;                        // highest round committed on this shard
  std::map<Round, TimePoint> first_offer; // when a round was first offered here
  Duration grace{};
  TimePoint now;
};

struct RoundDecision {
  std::optional<Round> commit;        // this round, with every pending contribution of this label
  std::optional<RegionId> late;       // else: this region's pending contribution, alone
  std::optional<TimePoint> wait_until;  // else: ask again then, if nothing happens before
  std::string why;
};

RoundDecision decide_round(const RoundQuestion& question);

// Weight of a late contribution by staleness in rounds: (1 + max(0, s - 1))^-1/2.
float staleness_factor(double staleness_rounds);

}  // namespace godwit
