// The training loop: draw windows, accumulate gradients, step AdamW, balance the experts, then let
// the run merge. The run is behind Sync, so the loop does not know the network.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <span>
#include <vector>

#include "shared/base/result.h"
#include "worker/client/session.h"
#include "worker/trainer/model.h"
#include "worker/trainer/optimizer.h"

namespace godwit::trainer {

// What the loop needs of a godwit::Session, with the same contracts.
class Sync {
 public:
  virtual ~Sync() = default;
  virtual Result<void> start(std::vector<TensorSpec> tensors) = 0;
  virtual Result<StepReport> step(std::uint64_t tokens) = 0;
  virtual Result<StepReport> finish(std::chrono::milliseconds deadline) = 0;
};

struct TrainOptions {
  std::size_t batch = 8;       // windows of a gradient
  std::size_t context = 64;    // bytes that a window predicts
  std::size_t accumulate = 1;  // gradients of an optimizer step
  LearningRate learning_rate{.peak = 3e-3, .warmup_tokens = 20'000, .schedule_tokens = 4'000'000};
  float balance_rate = 1e-3F;    // of the routing bias, a step
  std::uint64_t max_steps = 0;   // of this worker; 0: no limit
  std::uint64_t max_tokens = 0;  // of the run; 0: no limit
  std::uint64_t seed = 1;        // of the windows
  std::chrono::milliseconds finish_deadline{10'000};

  std::uint64_t tokens_per_step() const { return batch * context * accumulate; }
};

// Where the loop is, about once a second.
struct Progress {
  std::uint64_t steps = 0;
  double loss = 0;               // nats per byte, smoothed
  double tokens_per_second = 0;  // of this worker, since the last report
  double waiting = 0;            // share of that time spent waiting for the run
  StepReport run;
};

struct Watch {
  std::function<bool()> stop;  // asked after each step
  std::function<void(const Progress&)> progress;
};

// The model as the run sees it: views of its parameters, the routing bias exact.
std::vector<TensorSpec> tensor_specs(Model& model);

// Trains until a limit, the run or watch.stop() ends it, then finishes politely; returns the last
// state. sync == nullptr: alone, and the run is this worker. Errors: those of Sync; kConfig (text
// shorter than a window); kInvalid (the loss is no longer finite).
Result<Progress> train(Model& model, std::span<const std::uint8_t> text,
                       const TrainOptions& options, Sync* sync, const Watch& watch);

}  // namespace godwit::trainer
