// OuterRule: which outer optimizer a round uses. Outer momentum pays only when a round holds enough inner
// steps; below that it diverges. The choice is logged, and the momentum buffer is zeroed when it changes.
#pragma once

#include <cstdint>
#include <deque>

#include "server/core/settings.h"
#include "shared/protocol/entry.h"

namespace godwit {

class OuterRule {
 public:
  // `last` is the optimizer of the last committed round, kNone if there was none.
  OuterRule(const RunSettings& settings, Outer last) : settings_(settings), last_(last) {}

  // Fills outer, learning_rate, momentum, zero_velocity and median_steps for a round of `steps` median
  // steps. In sync the rule looks at H itself, in async at the median over the last rounds.
  void choose(EntryHeader& header, std::uint32_t steps);
  // The mode changed: windows of another mode say nothing about this one.
  void forget() { history_.clear(); }

 private:
  const RunSettings& settings_;
  Outer last_;
  std::deque<std::uint32_t> history_;
};

// The median of `steps` (the lower one of two); 0 for none.
std::uint32_t median(std::deque<std::uint32_t> steps);

}  // namespace godwit
