#include "worker/trainer/routing.h"

#include <limits>
#include <numeric>

#include "shared/base/check.h"

namespace godwit::trainer {
namespace {

std::int64_t largest(std::span<const float> values) {
  std::size_t best = 0;
  for (std::size_t i = 1; i < values.size(); ++i) {
    if (values[i] > values[best]) best = i;
  }
  return static_cast<std::int64_t>(best);
}

}  // namespace

Routing route(std::span<const float> scores, std::span<const float> bias, std::int64_t choices) {
  const std::size_t experts = bias.size();
  const auto picks = static_cast<std::size_t>(choices);
  GODWIT_REQUIRE(picks >= 1 && picks <= experts, "between one and all experts");
  GODWIT_REQUIRE(scores.size() % experts == 0, "one row of scores a token");
  const std::size_t tokens = scores.size() / experts;

  Routing routing;
  routing.chosen.resize(tokens * picks);
  routing.slot_of.resize(tokens * picks);
  routing.token_of.resize(tokens * picks);
  routing.first_slot.assign(experts + 1, 0);
  std::vector<float> biased(experts);
  for (std::size_t token = 0; token < tokens; ++token) {
    for (std::size_t e = 0; e < experts; ++e) biased[e] = scores[token * experts + e] + bias[e];
    for (std::size_t pick = 0; pick < picks; ++pick) {
      const std::int64_t expert = largest(biased);
      biased[static_cast<std::size_t>(expert)] = -std::numeric_limits<float>::infinity();
      routing.chosen[token * picks + pick] = expert;
      ++routing.first_slot[static_cast<std::size_t>(expert) + 1];
    }
  }
  std::partial_sum(routing.first_slot.begin(), routing.first_slot.end(),
                   routing.first_slot.begin());
  std::vector<std::int64_t> next = routing.first_slot;
  for (std::size_t i = 0; i < routing.chosen.size(); ++i) {
    const std::int64_t slot = next[static_cast<std::size_t>(routing.chosen[i])]++;
    routing.slot_of[i] = slot;
    routing.token_of[static_cast<std::size_t>(slot)] = static_cast<std::int64_t>(i / picks);
  }
  return routing;
}

void balance(std::span<float> bias, std::span<const std::int64_t> load, float rate) {
  GODWIT_REQUIRE(bias.size() == load.size(), "one load an expert");
  const auto experts = static_cast<std::int64_t>(load.size());
  const std::int64_t total = std::accumulate(load.begin(), load.end(), std::int64_t{0});
  const auto direction = [&](std::size_t e) {
    const std::int64_t missing =
        total - load[e] * experts;  // sign of mean - load, without rounding
    return static_cast<float>((missing > 0) - (missing < 0));
  };
  float mean = 0;
  for (std::size_t e = 0; e < load.size(); ++e) mean += direction(e) / static_cast<float>(experts);
  for (std::size_t e = 0; e < load.size(); ++e) bias[e] += rate * (direction(e) - mean);
}

}  // namespace godwit::trainer
