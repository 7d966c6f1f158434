// The simulated cluster over the seeds of CI, in batches so that ctest runs them side by side: 2,000 seeds, or as
// many as GODWIT_TEST_SEEDS says.
#include <gtest/gtest.h>

#include <cstdio>
#include <cstdlib>

#include "tests/sim/cluster.h"

namespace godwit::sim {
namespace {

constexpr std::uint64_t kBatches = 8;
constexpr std::uint64_t kSeedsAtLeast = 2000;
constexpr std::uint64_t kBatchStride = 1U << 20U;  // seeds of one batch and those of the next are apart

// The first kSeedsAtLeast seeds are 0, 1, ...: those that people try by hand.
std::uint64_t seed_of(std::uint64_t batch, std::uint64_t index) {
  constexpr std::uint64_t kFirst = kSeedsAtLeast / kBatches;
  return index < kFirst ? batch * kFirst + index : (batch + 1) * kBatchStride + index;
}

class SimulatedCluster : public ::testing::TestWithParam<std::uint64_t> {
 protected:
  bool enough(std::uint64_t seeds) const {
    if (const char* told = std::getenv("GODWIT_TEST_SEEDS")) {
      return seeds >= (std::strtoull(told, nullptr, 10) + kBatches - 1) / kBatches;
    }
    return seeds >= kSeedsAtLeast / kBatches;
  }
};

TEST_P(SimulatedCluster, KeepsItsPromises) {
  Counters total;
  std::uint64_t seeds = 0, with_leader_crash = 0;
  for (; !enough(seeds); ++seeds) {
    const std::uint64_t seed = seed_of(GetParam(), seeds);
    const Outcome outcome = run_seed(seed);
    total.add(outcome.counters);
    ASSERT_EQ(outcome.failure, "") << "seed " << seed;
    if (outcome.counters[Count::kLeaderCrashes] > 0) ++with_leader_crash;
  }
  std::printf("seeds=%llu with_leader_crash=%llu %s\n", static_cast<unsigned long long>(seeds),
              static_cast<unsigned long long>(with_leader_crash), total.summary().c_str());
  if (seeds < kSeedsAtLeast / kBatches) return;  // too few for every kind of fault
  EXPECT_EQ(total.missing(), "") << "these never happened, so they were not tested";
  EXPECT_GE(2 * with_leader_crash, seeds) << "most seeds never lost a leader";
}

INSTANTIATE_TEST_SUITE_P(Seeds, SimulatedCluster, ::testing::Range<std::uint64_t>(0, kBatches));

// Each once found a mistake, in a core or in a check.
TEST(Simulator, SeedsThatFoundSomethingPass) {
  for (const std::uint64_t seed : {22ULL, 28'801ULL, 640ULL, 1644ULL, 10'003'977ULL, 20'001'416ULL, 20'011'494ULL,
                                   20'017'052ULL, 20'025'085ULL, 20'038'697ULL, 40'034'147ULL, 40'043'660ULL})
    EXPECT_EQ(run_seed(seed).failure, "");
}

TEST(Simulator, TheSameSeedIsTheSameHistory) {
  for (std::uint64_t seed = 0; seed < 10; ++seed) {
    EXPECT_EQ(run_seed(seed).hash, run_seed(seed).hash) << "seed " << seed;
    EXPECT_NE(run_seed(seed).hash, run_seed(seed + 1).hash) << "seed " << seed;
  }
}

}  // namespace
}  // namespace godwit::sim
