#include "server/core/rounds.h"

#include <algorithm>
#include <cmath>

namespace godwit {

RoundDecision decide_round(const RoundQuestion& question) {
  std::optional<Round> open;
  for (const auto& [region, offer] : question.regions) {
    if (!offer.pending) continue;
    if (*offer.pending <= question.committed) return {{}, region, {}, "late: its round is already committed"};
    open = open ? std::min(*open, *offer.pending) : *offer.pending;
  }
  if (!open) return {{}, {}, {}, "nothing is offered"};

  std::string missing;
  for (const auto& [region, offer] : question.regions) {
    const bool offered = (offer.pending && *offer.pending >= *open) || offer.empty_through >= *open;
    if (offer.awaited && !offered) missing += (missing.empty() ? "" : ", ") + to_string(region);
  }
  if (missing.empty()) return {open, {}, {}, "every region has offered that is there"};
  const auto first = question.first_offer.find(*open);
  const TimePoint until = (first == question.first_offer.end() ? question.now : first->second) + question.grace;
  if (question.now >= until) return {open, {}, {}, "grace is over without region " + missing};
  return {{}, {}, until, "waits for region " + missing};
}

float staleness_factor(double staleness_rounds) {
  return static_cast<float>(1.0 / std::sqrt(1.0 + std::max(0.0, staleness_rounds - 1.0)));
}

}  // namespace godwit
