// One region, H = 1, fp32, outer SGD with learning rate 1, sync: the same as training alone.
#include <gtest/gtest.h>

#include <cmath>

#include "tests/unit/core/bench.h"
#include "worker/core/worker_core.h"

namespace godwit::test {
namespace {

using Values = std::vector<float>;

// A quadratic bowl with a different curvature in every direction.
float target(std::size_t i) { return 0.37F * static_cast<float>(i) - 2.1F; }
float curvature(std::size_t i) { return 0.2F + 0.1F * static_cast<float>(i); }

double loss(const Values& theta) {
  double sum = 0;
  for (std::size_t i = 0; i < theta.size(); ++i)
    sum += 0.5 * curvature(i) * std::pow(theta[i] - target(i), 2);
  return sum;
}

void descend(Values& theta) {
  for (std::size_t i = 0; i < theta.size(); ++i)
    theta[i] -= 0.1F * curvature(i) * (theta[i] - target(i));
}

class OneSynchronousRegion {
 public:
  explicit OneSynchronousRegion(const Values& model) : theta(model) {
    parameters_.add(theta);
    perform(core_.on_connected(bench_.now()));
    perform(core_.offer_initial(parameters_, bench_.now()));
    bench_.set_mode(Mode::kSync, 1, 1);
    while (!core_.ready()) pass();
    perform(core_.join());
    while (!core_.synchronous()) pass();
  }
  void step() {
    descend(theta);
    perform(core_.on_step(4, 0.01F, parameters_, bench_.now()));
    while (!core_.must_wait().empty()) pass();
  }

 private:
  static WorkerSettings settings() {
    WorkerSettings settings;
    settings.id = WorkerId(1);
    settings.incarnation = Incarnation(1);
    settings.weight = 4;
    settings.manifest = small_manifest().hash();
    return settings;
  }
  void pass() {
    ASSERT_LT(++passes_, 100'000) << "the round is never committed";
    bench_.pass(milliseconds(10));
    collect();
    perform(core_.on_tick(parameters_, bench_.now()));
  }
  void collect() {
    for (const Message& reply : bench_.take_replies()) {
      perform(core_.on_message(reply, parameters_, bench_.now()));
    }
  }
  void perform(const WorkerEffects& effects) {
    for (const Message& message : effects.sends) bench_.from_worker(0, message);
    if (!effects.sends.empty()) collect();
  }

 public:
  Values theta;

 private:
  Bench bench_;
  Parameters parameters_;
  WorkerCore core_{settings(), Layout(small_manifest())};
  int passes_ = 0;
};

float ulps_apart(float a, float b) {
  const float larger = std::max(std::abs(a), std::abs(b));
  return std::abs(a - b) / (std::nextafter(larger, INFINITY) - larger);
}

TEST(OneRegionInSync, TrainsAsIfItWereAlone) {
  Values alone(16);
  for (std::size_t i = 0; i < alone.size(); ++i) alone[i] = std::sin(static_cast<float>(i) + 1);
  OneSynchronousRegion region(alone);
  EXPECT_EQ(region.theta, alone) << "the initial model is taken as it is";
  for (int step = 1; step <= 200; ++step) {
    region.step();
    const Values before = alone;
    descend(alone);
    for (std::size_t i = 0; step == 1 && i < alone.size(); ++i) {
      EXPECT_LE(ulps_apart(region.theta[i], alone[i]), 2) << "parameter " << i;
      const float q = before[i] - alone[i];
      const bool exact =
          static_cast<double>(before[i]) - alone[i] == q;  // A - theta has no rounding
      if (exact) {
        EXPECT_EQ(region.theta[i], alone[i]) << "parameter " << i;
      }
    }
    ASSERT_NEAR(loss(region.theta), loss(alone), 1e-3) << "step " << step;
  }
  EXPECT_LT(loss(region.theta), 0.1 * loss(Values(16))) << "and it does train";
}

}  // namespace
}  // namespace godwit::test
