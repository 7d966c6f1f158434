// The simulated cluster over the seeds of CI, in batches so that ctest runs them side by side.
#include <gtest/gtest.h>

#include <cstdio>

#include "tests/sim/cluster.h"

namespace godwit::sim {
namespace {

constexpr std::uint64_t kSeedsPerBatch = 250;

class SimulatedCluster : public ::testing::TestWithParam<std::uint64_t> {};

TEST_P(SimulatedCluster, KeepsItsPromises) {
  Counters total;
  for (std::uint64_t seed = GetParam() * kSeedsPerBatch; seed < (GetParam() + 1) * kSeedsPerBatch; ++seed) {
    const Outcome outcome = run_seed(seed);
    total.add(outcome.counters);
    ASSERT_EQ(outcome.failure, "") << "seed " << seed;
  }
  std::printf("%s\n", total.summary().c_str());
  EXPECT_EQ(total.missing(), "") << "these never happened, so they were not tested";
}

INSTANTIATE_TEST_SUITE_P(Seeds, SimulatedCluster, ::testing::Range<std::uint64_t>(0, 8));

TEST(Simulator, TheSameSeedIsTheSameHistory) {
  for (std::uint64_t seed = 0; seed < 10; ++seed) {
    EXPECT_EQ(run_seed(seed).hash, run_seed(seed).hash) << "seed " << seed;
    EXPECT_NE(run_seed(seed).hash, run_seed(seed + 1).hash) << "seed " << seed;
  }
}

}  // namespace
}  // namespace godwit::sim
