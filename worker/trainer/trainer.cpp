#include "worker/trainer/trainer.h"

#include <cmath>

#include "worker/trainer/data.h"

namespace godwit::trainer {
namespace {

using Clock = std::chrono::steady_clock;
constexpr double kLossMemory = 0.9;
constexpr std::chrono::seconds kProgressInterval{1};

class AloneSync final : public Sync {
 public:
  Result<void> start(std::vector<TensorSpec>) override { return {}; }
  Result<StepReport> step(std::uint64_t tokens) override {
    report_.run_tokens += tokens;
    return report_;
  }
  Result<StepReport> finish(std::chrono::milliseconds) override { return report_; }

 private:
  StepReport report_;
};

// One optimizer step after another on random windows of the text.
class LocalSteps {
 public:
  LocalSteps(Model& model, std::span<const std::uint8_t> text, const TrainOptions& options)
      : model_(model),
        text_(text),
        options_(options),
        optimizer_(model.layout()),
        random_(options.seed),
        windows_(options.batch * (options.context + 1)) {}

  // Returns the mean loss in nats per byte.
  double step(std::uint64_t run_tokens) {
    double loss = 0;
    const float share = 1.0F / static_cast<float>(options_.accumulate);
    for (std::size_t i = 0; i < options_.accumulate; ++i) {
      draw_windows(windows_, options_.context + 1, text_, random_);
      loss += share * model_.accumulate_gradient(
                          windows_, static_cast<std::int64_t>(options_.context + 1), share);
    }
    optimizer_.step(model_.parameters(), model_.gradients(), options_.learning_rate.at(run_tokens));
    model_.balance_experts(options_.balance_rate);
    return loss;
  }

 // Moments of gradients of another model would mislead it.
  void forget() { optimizer_ = AdamW(model_.layout()); }

 private:
  Model& model_;
  std::span<const std::uint8_t> text_;
  const TrainOptions& options_;
  AdamW optimizer_;
  Random random_;
  std::vector<std::uint8_t> windows_;
};

// Turns the steps since the last reading into a Progress.
class Meter {
 public:
  explicit Meter(std::uint64_t tokens_per_step)
      : tokens_per_step_(tokens_per_step), since_(Clock::now()) {}

  void add(double loss, const StepReport& report) {
    progress_.loss =
        progress_.steps == 0 ? loss : kLossMemory * progress_.loss + (1 - kLossMemory) * loss;
    progress_.run = report;
    waited_ += report.waited;
    ++progress_.steps;
  }
  bool due() const { return Clock::now() - since_ >= kProgressInterval; }
  Progress read() {
    const Clock::time_point now = Clock::now();
    const double seconds = std::max(1e-9, std::chrono::duration<double>(now - since_).count());
    progress_.tokens_per_second =
        static_cast<double>((progress_.steps - read_steps_) * tokens_per_step_) / seconds;
    progress_.waiting = std::chrono::duration<double>(waited_).count() / seconds;
    since_ = now;
    waited_ = {};
    read_steps_ = progress_.steps;
    return progress_;
  }

 private:
  std::uint64_t tokens_per_step_;
  Clock::time_point since_;
  std::chrono::nanoseconds waited_{};
  std::uint64_t read_steps_ = 0;
  Progress progress_;
};

bool reached(std::uint64_t count, std::uint64_t limit) { return limit != 0 && count >= limit; }

}  // namespace

std::vector<TensorSpec> tensor_specs(Model& model) {
  std::vector<TensorSpec> specs;
  for (const ModelTensor& tensor : model.layout().tensors) {
    specs.push_back({tensor.name, tensor.shape,
                     model.parameters().subspan(tensor.offset, tensor.count), !tensor.trained});
  }
  return specs;
}

Result<Progress> train(Model& model, std::span<const std::uint8_t> text,
                       const TrainOptions& options, Sync* sync, const Watch& watch) {
  if (text.size() <= options.context) {
    return Error{Errc::kConfig, "this region's slice of the text has " +
                                    std::to_string(text.size()) + " bytes, a window needs " +
                                    std::to_string(options.context + 1) +
                                    ": give more --data or a shorter --context"};
  }
  AloneSync alone;
  Sync& run = sync != nullptr ? *sync : alone;
  if (Result<void> started = run.start(tensor_specs(model)); !started) return started.error();

  LocalSteps local(model, text, options);
  Meter whole(options.tokens_per_step());
  Meter recent(options.tokens_per_step());
  StepReport last;
  std::uint64_t steps = 0;
  do {
    const double loss = local.step(last.run_tokens);
    if (!std::isfinite(loss)) {
      return Error{Errc::kInvalid, "the loss is no longer finite: lower --learning-rate"};
    }
    const Result<StepReport> report = run.step(options.tokens_per_step());
    if (!report) return report.error();
    last = *report;
    if (last.restored) local.forget();
    ++steps;
    whole.add(loss, last);
    recent.add(loss, last);
    if (watch.progress && recent.due()) watch.progress(recent.read());
  } while (!last.stop && !reached(steps, options.max_steps) &&
           !reached(last.run_tokens, options.max_tokens) && !(watch.stop && watch.stop()));

  Progress summary = whole.read();
  const Result<StepReport> left = run.finish(options.finish_deadline);
  if (!left) return left.error();
  summary.run = *left;
  return summary;
}

}  // namespace godwit::trainer
