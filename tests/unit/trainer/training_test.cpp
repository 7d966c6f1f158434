#include <gtest/gtest.h>

#include "tests/unit/trainer/tiny_model.h"
#include "worker/trainer/trainer.h"

namespace godwit::trainer {
namespace {

const std::vector<std::uint8_t> kText =
    bytes_of("In the beginning God created the heaven and the earth.");

TrainOptions short_run() {
  return {
      .batch = 2, .context = 8, .accumulate = 2, .learning_rate = {.peak = 1e-2}, .max_steps = 3};
}

// A run that counts what the loop asks of it.
class FakeRun final : public Sync {
 public:
  Result<void> start(std::vector<TensorSpec> specs) override {
    tensors = std::move(specs);
    return {};
  }
  Result<StepReport> step(std::uint64_t count) override {
    report.run_tokens += count;
    if (++steps == fails_at) return Error{Errc::kTimedOut, "no round"};
    report.stop = steps == stops_at;
    return report;
  }
  Result<StepReport> finish(std::chrono::milliseconds) override {
    ++finishes;
    return report;
  }
  std::vector<TensorSpec> tensors;
  StepReport report;
  int steps = 0;
  int finishes = 0;
  int stops_at = 0;
  int fails_at = 0;
};

TEST(Training, RegistersTheModelInPlaceWithExactBiases) {
  Model model(tiny_shape(), 1);
  FakeRun run;
  ASSERT_TRUE(train(model, kText, short_run(), &run, {}).has_value());
  ASSERT_EQ(run.tensors.size(), model.layout().tensors.size());
  const float* next = model.parameters().data();
  for (const TensorSpec& tensor : run.tensors) {
    EXPECT_EQ(tensor.values.data(), next);
    next += tensor.values.size();
    EXPECT_EQ(tensor.exact, tensor.name.ends_with("e_score_correction_bias"));
  }
}

TEST(Training, CountsTokensAndFinishesOnce) {
  Model model(tiny_shape(), 1);
  FakeRun run;
  const Result<Progress> end = train(model, kText, short_run(), &run, {});
  ASSERT_TRUE(end.has_value());
  EXPECT_EQ(end->steps, 3U);
  EXPECT_EQ(end->run.run_tokens, 3U * 2 * 8 * 2);
  EXPECT_EQ(run.finishes, 1);
}

TEST(Training, EndsWhenTheRunTheCallerOrTheTokenClockSays) {
  Model model(tiny_shape(), 1);
  TrainOptions options = short_run();
  options.max_steps = 0;
  FakeRun stopped;
  stopped.stops_at = 2;
  EXPECT_EQ(train(model, kText, options, &stopped, {})->steps, 2U);
  EXPECT_EQ(stopped.finishes, 1);
  EXPECT_EQ(
      train(model, kText, options, nullptr, {.stop = [] { return true; }, .progress = {}})->steps,
      1U);
  options.max_tokens = 100;  // 32 a step
  EXPECT_EQ(train(model, kText, options, nullptr, {})->steps, 4U);
}

TEST(Training, ReportsErrorsOfTheRunAndOfTheText) {
  Model model(tiny_shape(), 1);
  FakeRun run;
  run.fails_at = 2;
  const Result<Progress> failed = train(model, kText, short_run(), &run, {});
  ASSERT_FALSE(failed.has_value());
  EXPECT_EQ(failed.error().code, Errc::kTimedOut);
  const Result<Progress> short_text =
      train(model, std::span(kText).first(8), short_run(), nullptr, {});
  ASSERT_FALSE(short_text.has_value());
  EXPECT_EQ(short_text.error().code, Errc::kConfig);
}

TEST(Training, SameSeedsGiveTheSameParameters) {
  const auto trained = [](std::uint64_t seed) {
    Model model(tiny_shape(), 1);
    TrainOptions options = short_run();
    options.seed = seed;
    EXPECT_TRUE(train(model, kText, options, nullptr, {}).has_value());
    return std::vector<float>(model.parameters().begin(), model.parameters().end());
  };
  EXPECT_EQ(trained(1), trained(1));
  EXPECT_NE(trained(1), trained(2));
}

}  // namespace
}  // namespace godwit::trainer
