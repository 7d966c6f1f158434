#include "bench/chaos/fault.h"

#include <algorithm>
#include <utility>

#include "shared/base/random.h"

namespace godwit::bench {
namespace {

constexpr Duration kIntervalMin = seconds(3), kIntervalMax = seconds(6);
constexpr Duration kSoonMin = milliseconds(200), kSoonMax = seconds(2);
constexpr Duration kLinkMin = seconds(1), kLinkMax = seconds(10);

Duration between(Duration low, Duration high, Random& random) {
  return low + Duration(static_cast<std::int64_t>(random.uniform() * static_cast<double>((high - low).count())));
}

Duration length_of(FaultKind kind, Duration lease, Random& random) {
  if (is_long(kind)) return between(lease * 3 / 2, lease * 3, random);
  if (is_of_link(kind)) return between(kLinkMin, kLinkMax, random);
  return between(kSoonMin, std::min(kSoonMax, lease / 2), random);
}

}  // namespace

std::string_view name(FaultKind kind) {
  constexpr std::array kNames = {"kill_worker", "kill_server", "kill_control", "leader_away",
                                 "pause_short", "pause_long",  "cut_link",     "hold_link"};
  return kNames[static_cast<std::size_t>(kind)];
}

std::vector<PlannedFault> plan_faults(std::uint64_t seed, Duration window, Duration lease) {
  Random random(seed);
  std::vector<PlannedFault> plan;
  std::vector<FaultKind> deck;  // dealt to the last card before it is shuffled again
  for (Duration at = kIntervalMin; at < window; at += between(kIntervalMin, kIntervalMax, random)) {
    if (deck.empty()) {
      deck.assign(kFaultKinds.begin(), kFaultKinds.end());
      for (std::size_t i = deck.size(); i > 1; --i) std::swap(deck[i - 1], deck[random.below(i)]);
    }
    const FaultKind kind = deck.back();
    deck.pop_back();
    plan.push_back({kind, at, length_of(kind, lease, random), random.next()});
  }
  return plan;
}

}  // namespace godwit::bench
