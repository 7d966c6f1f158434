#include "server/core/outer_rule.h"

#include <algorithm>

namespace godwit {
namespace {
constexpr std::size_t kHistoryRounds = 8;
}

std::uint32_t median(std::deque<std::uint32_t> steps) {
  if (steps.empty()) return 0;
  const auto middle = steps.begin() + static_cast<std::ptrdiff_t>((steps.size() - 1) / 2);
  std::nth_element(steps.begin(), middle, steps.end());
  return *middle;
}

void OuterRule::choose(EntryHeader& header, std::uint32_t steps) {
  history_.push_back(steps);
  if (history_.size() > kHistoryRounds) history_.pop_front();
  const std::uint32_t looked_at = header.mode == Mode::kSync ? header.sync_steps : median(history_);
  const bool nesterov = looked_at >= settings_.nesterov_steps_min;
  header.median_steps = steps;
  header.outer = nesterov ? Outer::kNesterov : Outer::kSgd;
  header.learning_rate = nesterov ? settings_.nesterov_learning_rate : settings_.sgd_learning_rate;
  header.momentum = nesterov ? settings_.nesterov_momentum : 0.0F;
  header.zero_velocity = header.outer != last_;
  last_ = header.outer;
}

}  // namespace godwit
