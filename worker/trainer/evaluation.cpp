#include "worker/trainer/evaluation.h"

#include <algorithm>
#include <cmath>
#include <numbers>

#include "shared/base/check.h"

namespace godwit::trainer {
namespace {

constexpr std::size_t kBatch = 16;  // windows a forward pass
constexpr double kSmoothing = 0.01;

}  // namespace

Result<void> load(Model& model, const safetensors::File& file) {
  for (const ModelTensor& tensor : model.layout().tensors) {
    const safetensors::Tensor* stored = file.find(tensor.name);
    if (stored == nullptr || stored->shape != tensor.shape) {
      return Error{Errc::kConflict, "tensor " + tensor.name +
                                        (stored == nullptr ? " is missing" : " has another shape") +
                                        " in the file: was it made with another --size?"};
    }
    std::copy(stored->values.begin(), stored->values.end(),
              model.parameters().begin() + static_cast<std::ptrdiff_t>(tensor.offset));
  }
  return {};
}

double bits_per_byte(Model& model, std::span<const std::uint8_t> text, std::size_t context) {
  GODWIT_REQUIRE(text.size() >= 2 && context >= 1, "something to predict");
  double nats = 0;
  std::vector<std::uint8_t> batch;
  std::size_t windows = 0;
  const auto flush = [&] {
    if (windows == 0) return;
    const std::size_t length = batch.size() / windows;
    nats += model.loss(batch, static_cast<std::int64_t>(length)) *
            static_cast<double>(windows * (length - 1));
    batch.clear();
    windows = 0;
  };
  for (std::size_t at = 0; at + 1 < text.size(); at += context) {
    const auto window = text.subspan(at, std::min(context + 1, text.size() - at));
    if (window.size() != context + 1) flush();  // the last one is shorter
    batch.insert(batch.end(), window.begin(), window.end());
    if (++windows == kBatch) flush();
  }
  flush();
  return nats / static_cast<double>(text.size() - 1) / std::numbers::ln2;
}

Bigram::Bigram(std::span<const std::uint8_t> training) {
  for (std::size_t i = 0; i + 1 < training.size(); ++i) {
    ++pairs_[training[i]][training[i + 1]];
    ++firsts_[training[i]];
  }
}

double Bigram::bits_per_byte(std::span<const std::uint8_t> text) const {
  GODWIT_REQUIRE(text.size() >= 2, "something to predict");
  double bits = 0;
  for (std::size_t i = 0; i + 1 < text.size(); ++i) {
    const double pair = static_cast<double>(pairs_[text[i]][text[i + 1]]) + kSmoothing;
    bits -= std::log2(pair / (static_cast<double>(firsts_[text[i]]) + kSmoothing * 256));
  }
  return bits / static_cast<double>(text.size() - 1);
}

}  // namespace godwit::trainer
