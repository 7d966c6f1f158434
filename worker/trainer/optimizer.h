// AdamW on one flat buffer, by hand: betas 0.9 and 0.95, weight decay on matrices only, gradients
// clipped to a norm of 1. One thread at a time. The learning rate comes from the run's token clock.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "worker/trainer/model_shape.h"

namespace godwit::trainer {

// Linear warm-up, then a cosine down to `floor` x peak, both over tokens of the whole run.
struct LearningRate {
  double peak = 0;
  double floor = 0.1;  // of the peak
  std::uint64_t warmup_tokens = 0;
  std::uint64_t schedule_tokens = 0;  // where the cosine ends; 0: stays at the peak

  double at(std::uint64_t run_tokens) const;
};

class AdamW {
 public:
  explicit AdamW(const ModelLayout& layout);

  // One step, in place; clears `gradients`. Returns the norm of the gradient before clipping. A
  // gradient that is not finite changes nothing.
  double step(std::span<float> parameters, std::span<float> gradients, double learning_rate);

 private:
  struct Range {  // [begin, end) of the flat buffer
    std::size_t begin = 0;
    std::size_t end = 0;
    bool decays = false;
  };
  std::vector<Range> ranges_;
  std::vector<float> mean_;
  std::vector<float> square_;
  std::uint64_t steps_ = 0;
};

}  // namespace godwit::trainer
