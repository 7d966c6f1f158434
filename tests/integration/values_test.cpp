// What a training loop may hand to the client by mistake: each is refused by name, and the run goes on without it.
#include <gtest/gtest.h>

#include <limits>

#include "tests/support/local_cluster.h"
#include "worker/client/session.h"

namespace godwit::integration {
namespace {

constexpr const char* kRegion = "solo";

cli::InitFlags plan() {
  cli::InitFlags plan;
  plan.regions = kRegion;
  plan.workers = 2;
  return plan;
}

class Values : public ::testing::Test {
 protected:
  Values() : cluster_(plan(), [](ClusterConfig& config) {
    config.run.shards = 1;
    config.run.leaders = {RegionId(0)};
  }) { cluster_.start_servers(); }

  Session connect(const std::string& name) const {
    const ClusterConfig& config = cluster_.config();
    SessionOptions options;
    options.server = to_string(config.find_server(kRegion)->data);
    options.region = kRegion;
    options.name = name;
    options.certificate_file = config.certificate_file(worker_certificate(kRegion, name));
    options.key_file = config.key_file(worker_certificate(kRegion, name));
    options.authority_file = config.authority_file();
    options.tokens_per_step = 1;
    Result<Session> session = Session::connect(options);
    GODWIT_REQUIRE(session.has_value(), session.error().to_string());
    return std::move(*session);
  }
  // Why that worker cannot start with this model.
  Error refusal(const std::string& name, std::vector<std::int64_t> shape, std::vector<float> values) {
    Session session = connect(name);
    const Result<void> started = session.start({{"layer.weight", std::move(shape), values}});
    EXPECT_FALSE(started.has_value());
    return started ? Error{} : started.error();
  }
  static void expect(const Error& error, Errc code, const std::string& words) {
    EXPECT_EQ(error.code, code) << error.to_string();
    EXPECT_NE(error.context.find(words), std::string::npos) << error.to_string();
  }

  support::LocalCluster cluster_;
};

TEST_F(Values, MistakesAreNamedAndLeaveTheRunAsItIs) {
  constexpr float kNan = std::numeric_limits<float>::quiet_NaN(), kInfinity = std::numeric_limits<float>::infinity();
  for (const float bad : {kNan, kInfinity}) {
    expect(refusal("worker-0", {4}, {1, 2, bad, 4}), Errc::kInvalid,
           "tensor 'layer.weight' holds NaN or infinity: initialise it");
  }
  std::vector<float> values = {1, 2, 3, 4};
  Session session = connect("worker-0");
  ASSERT_TRUE(session.start({{"layer.weight", {4}, values}})) << cluster_.logs();
  expect(refusal("worker-1", {0}, {}), Errc::kInvalid, "shape [0]: every dimension must be above 0");
  expect(refusal("worker-1", {2}, {1, 2, 3}), Errc::kInvalid, "its shape holds 2 values, its span 3");
  expect(refusal("worker-1", {1LL << 32, 1LL << 32}, {}), Errc::kInvalid, "has more than 2^40 parameters");
  expect(refusal("worker-1", {2, 2}, {1, 2, 3, 4}), Errc::kConflict,
         "tensor 'layer.weight' has shape [2,2] here and [4] in the run");
  for (float& value : values) value += 1;
  ASSERT_TRUE(session.step(1));
  values[3] = kNan;
  const Result<StepReport> diverged = session.step(1);
  ASSERT_FALSE(diverged);
  expect(diverged.error(), Errc::kInvalid, "holds NaN or infinity: training has diverged");
  values[3] = 5;
  const Result<StepReport> done = session.finish(std::chrono::seconds(10));
  ASSERT_TRUE(done) << done.error().to_string();
  EXPECT_GE(done->acknowledged, 1U) << "what it had learned before is not lost";
}

}  // namespace
}  // namespace godwit::integration
