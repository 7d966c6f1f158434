#include "server/core/rounds.h"

#include <gtest/gtest.h>

#include "server/core/outer_rule.h"

namespace godwit {
namespace {

constexpr TimePoint kStart{seconds(100)};

struct Case {
  const char* what;
  std::map<RegionId, RegionOffer> regions;
  std::uint64_t committed;
  Duration since_first_offer;
  std::optional<std::uint64_t> commit;
  std::optional<std::uint32_t> late;
  bool waits;
};

RegionOffer offer(bool live, std::optional<std::uint64_t> pending,
                  std::uint64_t empty_through = 0) {
  return {live, pending ? std::optional(Round(*pending)) : std::nullopt, Round(empty_through)};
}

class DecideRound : public ::testing::TestWithParam<Case> {};

TEST_P(DecideRound, FollowsTheTable) {
  const Case& row = GetParam();
  RoundQuestion question;
  question.regions = row.regions;
  question.committed = Round(row.committed);
  question.grace = seconds(3);
  for (std::uint64_t round = 0; round < 10; ++round) question.first_offer[Round(round)] = kStart;
  question.now = kStart + row.since_first_offer;
  const RoundDecision decision = decide_round(question);
  EXPECT_EQ(decision.commit, row.commit ? std::optional(Round(*row.commit)) : std::nullopt)
      << row.what;
  EXPECT_EQ(decision.late, row.late ? std::optional(RegionId(*row.late)) : std::nullopt)
      << row.what;
  EXPECT_EQ(decision.wait_until, row.waits ? std::optional(kStart + seconds(3)) : std::nullopt)
      << row.what;
  EXPECT_FALSE(decision.why.empty()) << row.what;
}

const RegionId a(0), b(1), c(2);
INSTANTIATE_TEST_SUITE_P(
    Rounds, DecideRound,
    ::testing::Values(Case{"nothing offered", {{a, offer(true, {})}}, 3, seconds(0), {}, {}, false},
                      Case{"a live region is missing",
                           {{a, offer(true, 4)}, {b, offer(true, {})}},
                           3,
                           seconds(1),
                           {},
                           {},
                           true},
                      Case{"everyone offered",
                           {{a, offer(true, 4)}, {b, offer(true, 4)}},
                           3,
                           seconds(0),
                           4,
                           {},
                           false},
                      Case{"a later round counts as an offer",
                           {{a, offer(true, 4)}, {b, offer(true, 6)}},
                           3,
                           seconds(0),
                           4,
                           {},
                           false},
                      Case{"nothing to offer counts",
                           {{a, offer(true, 4)}, {b, offer(true, {}, 4)}},
                           3,
                           seconds(0),
                           4,
                           {},
                           false},
                      Case{"nothing up to an older round does not",
                           {{a, offer(true, 4)}, {b, offer(true, {}, 3)}},
                           3,
                           seconds(1),
                           {},
                           {},
                           true},
                      Case{"the dead are not waited for",
                           {{a, offer(true, 4)}, {b, offer(false, {})}},
                           3,
                           seconds(0),
                           4,
                           {},
                           false},
                      Case{"the dead still contribute",
                           {{a, offer(true, 4)}, {b, offer(false, 4)}},
                           3,
                           seconds(0),
                           4,
                           {},
                           false},
                      Case{"grace is over",
                           {{a, offer(true, 4)}, {b, offer(true, {})}},
                           3,
                           seconds(3),
                           4,
                           {},
                           false},
                      Case{"late goes alone and first",
                           {{a, offer(true, 4)}, {b, offer(true, 3)}},
                           3,
                           seconds(0),
                           {},
                           1,
                           false},
                      Case{"the lowest open round",
                           {{a, offer(true, 6)}, {b, offer(true, 5)}, {c, offer(true, 7)}},
                           3,
                           seconds(0),
                           5,
                           {},
                           false}));

TEST(StalenessFactor, FallsWithTheRoot) {
  EXPECT_EQ(staleness_factor(0), 1);
  EXPECT_EQ(staleness_factor(1), 1);
  EXPECT_FLOAT_EQ(staleness_factor(4), 0.5F);
  EXPECT_FLOAT_EQ(staleness_factor(100), 0.1F);
}

EntryHeader chosen(OuterRule& rule, std::uint32_t steps, Mode mode = Mode::kAsync,
                   std::uint32_t sync_steps = 0) {
  EntryHeader header;
  header.mode = mode;
  header.sync_steps = sync_steps;
  rule.choose(header, steps);
  return header;
}

TEST(OuterRule, NesterovOnlyWithEnoughInnerSteps) {
  RunSettings settings;
  OuterRule rule(settings, Outer::kNone);
  EntryHeader first = chosen(rule, 15);
  EXPECT_EQ(first.outer, Outer::kSgd);
  EXPECT_EQ(first.learning_rate, 1.0F);
  EXPECT_EQ(first.momentum, 0.0F);
  rule.forget();
  const EntryHeader second = chosen(rule, 16);
  EXPECT_EQ(second.outer, Outer::kNesterov);
  EXPECT_EQ(second.learning_rate, 0.7F);
  EXPECT_EQ(second.momentum, 0.9F);
  EXPECT_EQ(second.median_steps, 16U);
}

TEST(OuterRule, TheBufferIsZeroedWhenTheChoiceChanges) {
  RunSettings settings;
  OuterRule rule(settings, Outer::kNesterov);
  EXPECT_FALSE(chosen(rule, 32).zero_velocity);
  rule.forget();
  EXPECT_TRUE(chosen(rule, 1).zero_velocity);
  EXPECT_FALSE(chosen(rule, 1).zero_velocity);
  rule.forget();
  EXPECT_TRUE(chosen(rule, 32).zero_velocity);
}

TEST(OuterRule, InSyncItIsTheOperatorsH) {
  RunSettings settings;
  OuterRule rule(settings, Outer::kNone);
  EXPECT_EQ(chosen(rule, 1, Mode::kSync, 16).outer, Outer::kNesterov);
  EXPECT_EQ(chosen(rule, 1000, Mode::kSync, 15).outer, Outer::kSgd);
}

TEST(OuterRule, OneOddRoundDoesNotFlipIt) {
  RunSettings settings;
  OuterRule rule(settings, Outer::kNone);
  for (int i = 0; i < 5; ++i) EXPECT_EQ(chosen(rule, 20).outer, Outer::kNesterov);
  EXPECT_EQ(chosen(rule, 2).outer, Outer::kNesterov);
}

TEST(Median, IsTheLowerOfTwo) {
  EXPECT_EQ(median({}), 0U);
  EXPECT_EQ(median({5}), 5U);
  EXPECT_EQ(median({9, 1}), 1U);
  EXPECT_EQ(median({9, 1, 4}), 4U);
}

}  // namespace
}  // namespace godwit
