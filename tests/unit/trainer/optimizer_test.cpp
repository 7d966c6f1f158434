#include "worker/trainer/optimizer.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>

namespace godwit::trainer {
namespace {

// A matrix, a vector and a routing bias of two values each.
ModelLayout layout() {
  ModelLayout layout;
  layout.tensors = {
      {"matrix", {1, 2}, 0, 2, true}, {"vector", {2}, 2, 2, true}, {"bias", {2}, 4, 2, false}};
  layout.count = 6;
  return layout;
}

TEST(AdamW, FirstStepMovesByTheRateAndDecaysMatricesOnly) {
  AdamW optimizer(layout());
  std::vector<float> parameters(6, 1.0F);
  std::vector<float> gradients{0.1F, -0.1F, 0.1F, -0.1F, 0, 0};
  EXPECT_NEAR(optimizer.step(parameters, gradients, 0.01), 0.2, 1e-6);
  const std::vector<float> expected{
      1 - 0.001F - 0.01F, 1 - 0.001F + 0.01F, 1 - 0.01F, 1 + 0.01F, 1, 1};
  for (std::size_t i = 0; i < 6; ++i) EXPECT_NEAR(parameters[i], expected[i], 1e-5F) << i;
  EXPECT_EQ(gradients, std::vector<float>(6, 0.0F));
}

TEST(AdamW, ClipsTheNormOfTheGradient) {
  AdamW clipped(layout());
  AdamW scaled(layout());
  std::vector<float> a(6, 1.0F);
  std::vector<float> b(6, 1.0F);
  for (const float size : {1.0F, 30.0F}) {  // the second step shows what the first one remembered
    std::vector<float> large{3 * size, 4 * size, 0, 0, 0, 0};
    std::vector<float> unit{0.6F, 0.8F, 0, 0, 0, 0};
    EXPECT_NEAR(clipped.step(a, large, 0.01), 5 * size, 1e-4);
    scaled.step(b, unit, 0.01);
  }
  for (std::size_t i = 0; i < 6; ++i) EXPECT_NEAR(a[i], b[i], 1e-5F) << i;
}

TEST(AdamW, IgnoresAGradientThatIsNotFinite) {
  AdamW optimizer(layout());
  std::vector<float> parameters(6, 1.0F);
  std::vector<float> gradients{std::numeric_limits<float>::quiet_NaN(), 1, 1, 1, 0, 0};
  optimizer.step(parameters, gradients, 0.01);
  EXPECT_EQ(parameters, std::vector<float>(6, 1.0F));
  EXPECT_EQ(gradients, std::vector<float>(6, 0.0F));
}

TEST(LearningRate, WarmsUpThenFollowsACosine) {
  const LearningRate rate{.peak = 1, .floor = 0.1, .warmup_tokens = 100, .schedule_tokens = 300};
  EXPECT_GT(rate.at(0), 0);
  EXPECT_NEAR(rate.at(50), 0.5, 0.01);
  EXPECT_DOUBLE_EQ(rate.at(100), 1);
  EXPECT_NEAR(rate.at(200), 0.55, 1e-9);
  EXPECT_NEAR(rate.at(300), 0.1, 1e-9);
  EXPECT_NEAR(rate.at(1'000'000), 0.1, 1e-9);
  EXPECT_DOUBLE_EQ((LearningRate{.peak = 1}.at(1'000'000)), 1);
}

}  // namespace
}  // namespace godwit::trainer
