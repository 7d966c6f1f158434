#include "worker/trainer/optimizer.h"

#include <algorithm>
#include <cmath>
#include <numbers>

#include "shared/base/check.h"
#include "shared/tensor/kernels.h"

namespace godwit::trainer {
namespace {

constexpr float kMeanDecay = 0.9F;
constexpr float kSquareDecay = 0.95F;
constexpr float kEpsilon = 1e-8F;
constexpr double kWeightDecay = 0.1;
constexpr double kMaxNorm = 1.0;

struct StepScalars {
  float clip;    // gradient factor
  float rate;    // learning rate over the bias correction of the mean
  float square;  // 1 / bias correction of the square
  float keep;    // 1 - learning rate x weight decay
};

void update(std::span<float> parameters, std::span<const float> gradients, std::span<float> mean,
            std::span<float> square, StepScalars by) {
  for (std::size_t i = 0; i < parameters.size(); ++i) {
    const float gradient = gradients[i] * by.clip;
    mean[i] = kMeanDecay * mean[i] + (1 - kMeanDecay) * gradient;
    square[i] = kSquareDecay * square[i] + (1 - kSquareDecay) * gradient * gradient;
    parameters[i] =
        by.keep * parameters[i] - by.rate * mean[i] / (std::sqrt(square[i] * by.square) + kEpsilon);
  }
}

}  // namespace

double LearningRate::at(std::uint64_t run_tokens) const {
  const auto now = static_cast<double>(run_tokens);
  const auto warm = static_cast<double>(warmup_tokens);
  if (now < warm) return peak * (now + 1) / (warm + 1);
  if (schedule_tokens <= warmup_tokens) return peak;
  const double done = std::min(1.0, (now - warm) / (static_cast<double>(schedule_tokens) - warm));
  return peak * (floor + (1 - floor) * 0.5 * (1 + std::cos(std::numbers::pi * done)));
}

AdamW::AdamW(const ModelLayout& layout) : mean_(layout.count), square_(layout.count) {
  for (const ModelTensor& tensor : layout.tensors) {
    if (!tensor.trained) continue;
    const bool joins = !ranges_.empty() && ranges_.back().end == tensor.offset &&
                       ranges_.back().decays == tensor.is_matrix();
    if (joins)
      ranges_.back().end += tensor.count;
    else
      ranges_.push_back({tensor.offset, tensor.offset + tensor.count, tensor.is_matrix()});
  }
}

double AdamW::step(std::span<float> parameters, std::span<float> gradients, double learning_rate) {
  GODWIT_REQUIRE(parameters.size() == mean_.size(), "the model that this optimizer was made for");
  GODWIT_REQUIRE(gradients.size() == mean_.size(), "a gradient for each parameter");
  const double norm = std::sqrt(kernels::sum_of_squares(gradients));
  if (std::isfinite(norm)) {
    ++steps_;
    const auto steps = static_cast<double>(steps_);
    StepScalars by{.clip = static_cast<float>(std::min(1.0, kMaxNorm / (norm + 1e-6))),
                   .rate = static_cast<float>(learning_rate / (1 - std::pow(kMeanDecay, steps))),
                   .square = static_cast<float>(1 / (1 - std::pow(kSquareDecay, steps))),
                   .keep = 1};
    for (const Range& range : ranges_) {
      by.keep = range.decays ? static_cast<float>(1 - learning_rate * kWeightDecay) : 1.0F;
      const std::size_t count = range.end - range.begin;
      update(parameters.subspan(range.begin, count), gradients.subspan(range.begin, count),
             std::span(mean_).subspan(range.begin, count),
             std::span(square_).subspan(range.begin, count), by);
    }
  }
  std::fill(gradients.begin(), gradients.end(), 0.0F);
  return norm;
}

}  // namespace godwit::trainer
