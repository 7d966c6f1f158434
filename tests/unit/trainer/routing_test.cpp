#include "worker/trainer/routing.h"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <algorithm>
#include <numeric>
#include <set>

namespace godwit::trainer {
namespace {

using Numbers = std::vector<std::int64_t>;

TEST(Routing, ChoosesByScorePlusBiasAndGroupsByExpert) {
  const std::vector<float> scores{0.9F, 0.1F, 0.5F,   // token 0: experts 0, 2
                                  0.2F, 0.3F, 0.9F};  // token 1: experts 2, 1
  const Routing routing = route(scores, std::vector<float>(3), 2);
  EXPECT_EQ(routing.chosen, (Numbers{0, 2, 2, 1}));
  EXPECT_EQ(routing.first_slot, (Numbers{0, 1, 2, 4}));
  EXPECT_EQ(routing.token_of, (Numbers{0, 1, 0, 1}));
  EXPECT_EQ(routing.slot_of, (Numbers{0, 2, 3, 1}));
  EXPECT_EQ(route(scores, std::vector<float>{0, 1, 0}, 1).chosen, (Numbers{1, 1}));
}

RC_GTEST_PROP(Routing, SlotsArePermutationsSortedByExpert, (const std::vector<std::uint8_t>& raw)) {
  const std::size_t experts = 4;
  std::vector<float> scores(raw.begin(), raw.end());
  scores.resize(scores.size() / experts * experts);
  const std::int64_t choices = *rc::gen::inRange(1, 5);
  const Routing routing = route(scores, std::vector<float>(experts), choices);
  RC_ASSERT(routing.first_slot.back() == static_cast<std::int64_t>(routing.chosen.size()));
  std::set<std::int64_t> slots;
  for (std::size_t i = 0; i < routing.chosen.size(); ++i) {
    const std::int64_t slot = routing.slot_of[i];
    const auto expert = static_cast<std::size_t>(routing.chosen[i]);
    slots.insert(slot);
    RC_ASSERT(routing.first_slot[expert] <= slot && slot < routing.first_slot[expert + 1]);
    RC_ASSERT(routing.token_of[static_cast<std::size_t>(slot)] ==
              static_cast<std::int64_t>(i) / choices);
  }
  RC_ASSERT(slots.size() == routing.chosen.size());
}

TEST(Balancing, RaisesUnloadedExpertsAndKeepsTheMean) {
  std::vector<float> bias{0, 0, 0, 0};
  balance(bias, Numbers{10, 1, 1, 0}, 0.01F);
  EXPECT_LT(bias[0], 0);
  EXPECT_GT(bias[3], 0);
  EXPECT_FLOAT_EQ(bias[1], bias[3]);  // by sign, not by size
  EXPECT_NEAR(std::accumulate(bias.begin(), bias.end(), 0.0F), 0, 1e-7F);
  std::vector<float> level{1, 2};
  balance(level, Numbers{3, 3}, 0.01F);
  EXPECT_EQ(level, (std::vector<float>{1, 2}));
}

}  // namespace
}  // namespace godwit::trainer
