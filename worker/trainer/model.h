// The reference model: a small DeepSeek-V3-style transformer over bytes, on libtorch, on CPU
// threads. All parameters live in one flat fp32 buffer, all gradients in another of the same
// layout, so that an optimizer step, a push and a merge are single passes. Between two calls the
// owner may change the parameters in place. One thread at a time. No libtorch type is needed to use
// it.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "worker/trainer/model_shape.h"

namespace godwit::trainer {

class Model {
 public:
  // Same shape and seed, same parameters, bit for bit.
  Model(const ModelShape& shape, std::uint64_t seed);
  Model(Model&&) noexcept;
  ~Model();

  const ModelLayout& layout() const;
  std::span<float> parameters();
  std::span<float> gradients();

  // `windows` are byte windows of `length` each: all but the last byte are read, all but the first
  // predicted. Adds scale x (gradient of the mean loss) to gradients(). Returns the mean loss in
  // nats per byte.
  float accumulate_gradient(std::span<const std::uint8_t> windows, std::int64_t length,
                            float scale);
  float loss(std::span<const std::uint8_t> windows, std::int64_t length);
  // Logits after each byte of one text: [byte][vocabulary].
  std::vector<float> logits(std::span<const std::uint8_t> text);

  // Moves the routing biases by the loads counted in accumulate_gradient() since the last call.
  void balance_experts(float rate);

 private:
  class Implementation;
  std::unique_ptr<Implementation> implementation_;
};

}  // namespace godwit::trainer
