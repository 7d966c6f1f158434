// A model of a few thousand parameters for tests: one dense layer, one with experts.
#pragma once

#include "worker/trainer/model.h"

namespace godwit::trainer {

inline ModelShape tiny_shape() {
  return {.hidden = 16,
          .layers = 2,
          .heads = 2,
          .nope = 4,
          .rope = 4,
          .value = 8,
          .latent = 8,
          .dense_inner = 24,
          .expert_inner = 8,
          .experts = 4,
          .experts_per_token = 2};
}

inline const ModelTensor& tensor_named(const Model& model, std::string_view name) {
  for (const ModelTensor& tensor : model.layout().tensors) {
    if (tensor.name == name) return tensor;
  }
  base::check_failed("REQUIRE", __FILE__, __LINE__, "a tensor of the model", name);
}

inline std::span<float> values_of(Model& model, std::string_view name) {
  const ModelTensor& tensor = tensor_named(model, name);
  return model.parameters().subspan(tensor.offset, tensor.count);
}

inline std::vector<std::uint8_t> bytes_of(std::string_view text) {
  return {text.begin(), text.end()};
}

}  // namespace godwit::trainer
