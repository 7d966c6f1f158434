// How well a model predicts text it never saw, in bits per byte, and the bigram model that it must
// beat.
#pragma once

#include <array>
#include <cstdint>
#include <span>

#include "shared/base/result.h"
#include "shared/tensor/safetensors.h"
#include "worker/trainer/model.h"

namespace godwit::trainer {

// Copies a checkpoint's values into the model; tensors that the model lacks are ignored.
// Errors: kConflict, naming the first tensor that is missing or has another shape.
Result<void> load(Model& model, const safetensors::File& file);

// Mean over all bytes of `text` but the first; windows of `context` bytes, each byte predicted
// once. REQUIRES: at least two bytes.
double bits_per_byte(Model& model, std::span<const std::uint8_t> text, std::size_t context);

// Order-1 model: P(b | a) = (count(a b) + 0.01) / (count(a) + 0.01 x 256).
class Bigram {
 public:
  explicit Bigram(std::span<const std::uint8_t> training);
  // Mean over all bytes of `text` but the first. REQUIRES: at least two bytes.
  double bits_per_byte(std::span<const std::uint8_t> text) const;

 private:
  std::array<std::array<std::uint64_t, 256>, 256> pairs_{};
  std::array<std::uint64_t, 256> firsts_{};
};

}  // namespace godwit::trainer
