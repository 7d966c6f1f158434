#include "worker/trainer/model.h"

#include <ATen/ATen.h>
#include <torch/csrc/autograd/grad_mode.h>

#include <cmath>

#include "shared/base/check.h"
#include "shared/base/random.h"
#include "worker/trainer/experts.h"

namespace godwit::trainer {
namespace {

constexpr double kNormEpsilon = 1e-6;
constexpr double kRotaryBase = 10'000.0;
constexpr double kInitialDeviation = 0.02;

at::Tensor norm(const at::Tensor& x, const at::Tensor& weight) {
  return x * at::rsqrt(x.square().mean(-1, true) + kNormEpsilon) * weight;
}

// [position, 1, rope / 2]: unit complex numbers that rotate channel pairs (2i, 2i + 1).
at::Tensor rotations(std::int64_t length, std::int64_t channels) {
  const at::Tensor pair = at::arange(0, channels, 2, at::kFloat);
  const at::Tensor frequency = at::pow(kRotaryBase, -pair / static_cast<double>(channels));
  const at::Tensor angle = at::outer(at::arange(length, at::kFloat), frequency);
  return at::polar(at::ones_like(angle), angle).unsqueeze(1);
}

// 0 where a position may look, minus infinity where it may not.
at::Tensor causal_mask(std::int64_t length) {
  return at::full({1, length, length}, -INFINITY, at::kFloat).triu(1);
}

}  // namespace

class Model::Implementation {
 public:
  Implementation(const ModelShape& shape, std::uint64_t seed)
      : shape_(shape),
        layout_(model_layout(shape)),
        parameters_(at::zeros({static_cast<std::int64_t>(layout_.count)}, at::kFloat)),
        gradients_(at::zeros_like(parameters_)) {
    initialise(seed);
    embedding_ = leaf(layout_.embedding);
    for (const LayerBlocks& blocks : layout_.layers) layers_.push_back(layer(blocks));
    final_norm_ = leaf(layout_.final_norm);
    head_ = leaf(layout_.head);
  }

  const ModelLayout& layout() const { return layout_; }
  std::span<float> parameters() { return flat(parameters_); }
  std::span<float> gradients() { return flat(gradients_); }

  at::Tensor loss(std::span<const std::uint8_t> windows, std::int64_t length, bool training) {
    GODWIT_REQUIRE(length >= 2 && !windows.empty(), "a window is read and predicted");
    const at::Tensor text = tokens(windows, length);
    const at::Tensor predicted = text.narrow(1, 1, length - 1).reshape({-1});
    return at::cross_entropy_loss(forward(text.narrow(1, 0, length - 1), training), predicted);
  }

  // `text` is [window, position]; logits are [window * position, vocabulary].
  at::Tensor forward(const at::Tensor& text, bool training) {
    prepare(text.size(1));
    at::Tensor x = at::embedding(embedding_, text).view({-1, shape_.hidden});
    for (Layer& layer : layers_) {
      x = x + attention(layer, norm(x, layer.attention_norm), text.size(0), text.size(1));
      x = x + feed_forward(layer, norm(x, layer.feed_norm), training);
    }
    return at::linear(norm(x, final_norm_), head_);
  }

  static at::Tensor tokens(std::span<const std::uint8_t> bytes, std::int64_t length) {
    GODWIT_REQUIRE(static_cast<std::int64_t>(bytes.size()) % length == 0, "whole windows");
    return at::from_blob(const_cast<std::uint8_t*>(bytes.data()),
                         {static_cast<std::int64_t>(bytes.size()) / length, length}, at::kByte)
        .to(at::kLong);
  }

  void balance_experts(float rate) {
    for (Layer& layer : layers_) {
      if (layer.load.empty()) continue;
      balance(flat(layer.routing_bias), layer.load, rate);
      layer.load.assign(layer.load.size(), 0);
    }
  }

 private:
  struct Layer {
    at::Tensor attention_norm, attention_in, latent_norm, key_value, attention_out;
    at::Tensor feed_norm, feed_in, feed_out;
    at::Tensor router, routing_bias, expert_in, expert_out;
    std::vector<std::int64_t> load;  // tokens per routed expert since the last balancing
  };

  static std::span<float> flat(const at::Tensor& values) {
    return {values.data_ptr<float>(), static_cast<std::size_t>(values.numel())};
  }

  static at::Tensor view(const at::Tensor& all, const Block& block) {
    std::int64_t count = 1;
    for (const std::int64_t extent : block.shape) count *= extent;
    return all.narrow(0, static_cast<std::int64_t>(block.offset), count).view(block.shape);
  }

  // A block of parameters whose gradient accumulates in the same place of the flat gradients.
  at::Tensor leaf(const Block& block) {
    if (block.shape.empty()) return {};
    at::Tensor values = view(parameters_, block).detach().set_requires_grad(true);
    values.mutable_grad() = view(gradients_, block);
    return values;
  }

  Layer layer(const LayerBlocks& blocks) {
    Layer layer{leaf(blocks.attention_norm),
                leaf(blocks.attention_in),
                leaf(blocks.latent_norm),
                leaf(blocks.key_value),
                leaf(blocks.attention_out),
                leaf(blocks.feed_norm),
                leaf(blocks.feed_in),
                leaf(blocks.feed_out),
                leaf(blocks.router),
                {},
                leaf(blocks.expert_in),
                leaf(blocks.expert_out),
                {}};
    if (blocks.has_experts()) {
      layer.routing_bias = view(parameters_, blocks.routing_bias);
      layer.load.assign(static_cast<std::size_t>(shape_.experts), 0);
    }
    return layer;
  }

  void initialise(std::uint64_t seed) {
    Random random(seed);
    for (const ModelTensor& tensor : layout_.tensors) {
      const std::span<float> values = parameters().subspan(tensor.offset, tensor.count);
      for (float& value : values) {
        if (!tensor.trained)
          value = 0;
        else
          value =
              tensor.is_matrix() ? static_cast<float>(kInitialDeviation * random.normal()) : 1.0F;
      }
    }
  }

  void prepare(std::int64_t length) {
    if (mask_.defined() && mask_.size(1) == length) return;
    mask_ = causal_mask(length);
    rotations_ = rotations(length, shape_.rope);
  }

  // Multi-head latent attention over x = [window * position, hidden].
  at::Tensor attention(const Layer& layer, const at::Tensor& x, std::int64_t windows,
                       std::int64_t length) {
    const std::int64_t heads = shape_.heads;
    const std::vector<at::Tensor> in =
        at::linear(x, layer.attention_in)
            .split_with_sizes({shape_.query_channels(), shape_.latent, shape_.rope}, -1);
    const std::vector<at::Tensor> query = in[0]
                                              .view({-1, heads, shape_.nope + shape_.rope})
                                              .split_with_sizes({shape_.nope, shape_.rope}, -1);
    const std::vector<at::Tensor> key_value =
        at::linear(norm(in[1], layer.latent_norm), layer.key_value)
            .view({-1, heads, shape_.nope + shape_.value})
            .split_with_sizes({shape_.nope, shape_.value}, -1);
    // The heads' query channels and the one shared key, rotated together.
    const std::vector<at::Tensor> rotated =
        rotate(at::cat({query[1], in[2].unsqueeze(1)}, 1), windows, length)
            .split_with_sizes({heads, 1}, 1);
    const auto by_head = [&](const at::Tensor& rows) {
      return rows.view({windows, length, heads, -1})
          .transpose(1, 2)
          .reshape({windows * heads, length, -1});
    };
    const at::Tensor q = by_head(at::cat({query[0], rotated[0]}, -1));
    const at::Tensor k = by_head(at::cat({key_value[0], rotated[1].expand({-1, heads, -1})}, -1));
    const at::Tensor v = by_head(key_value[1]);
    const double scale = 1.0 / std::sqrt(static_cast<double>(shape_.nope + shape_.rope));
    const at::Tensor weights = at::softmax(at::baddbmm(mask_, q, k.transpose(1, 2), 1, scale), -1);
    const at::Tensor mixed = at::bmm(weights, v).view({windows, heads, length, -1}).transpose(1, 2);
    return at::linear(mixed.reshape({windows * length, -1}), layer.attention_out);
  }

  at::Tensor rotate(const at::Tensor& x, std::int64_t windows, std::int64_t length) {
    const at::Tensor pairs = at::view_as_complex(x.view({windows, length, x.size(1), -1, 2}));
    return at::view_as_real(pairs * rotations_).view(x.sizes());
  }

  at::Tensor feed_forward(Layer& layer, const at::Tensor& x, bool training) {
    const at::Tensor common = at::linear(swiglu(at::linear(x, layer.feed_in)), layer.feed_out);
    if (!layer.router.defined()) return common;
    const at::Tensor scores = at::sigmoid(at::linear(x, layer.router));
    const Routing routing = route(flat(scores), flat(layer.routing_bias), shape_.experts_per_token);
    if (training) {
      for (std::size_t e = 0; e < layer.load.size(); ++e) {
        layer.load[e] += routing.first_slot[e + 1] - routing.first_slot[e];
      }
    }
    return common + routed_experts(x, scores, layer.expert_in, layer.expert_out, routing);
  }

  ModelShape shape_;
  ModelLayout layout_;
  at::Tensor parameters_, gradients_;  // flat
  at::Tensor embedding_, final_norm_, head_;
  std::vector<Layer> layers_;
  at::Tensor mask_, rotations_;  // for the last length
};

Model::Model(const ModelShape& shape, std::uint64_t seed)
    : implementation_(std::make_unique<Implementation>(shape, seed)) {}
Model::Model(Model&&) noexcept = default;
Model::~Model() = default;

const ModelLayout& Model::layout() const { return implementation_->layout(); }
std::span<float> Model::parameters() { return implementation_->parameters(); }
std::span<float> Model::gradients() { return implementation_->gradients(); }

float Model::accumulate_gradient(std::span<const std::uint8_t> windows, std::int64_t length,
                                 float scale) {
  const at::Tensor loss = implementation_->loss(windows, length, true);
  (loss * scale).backward();
  return loss.item<float>();
}

float Model::loss(std::span<const std::uint8_t> windows, std::int64_t length) {
  const at::NoGradGuard no_gradient;
  return implementation_->loss(windows, length, false).item<float>();
}

std::vector<float> Model::logits(std::span<const std::uint8_t> text) {
  const at::NoGradGuard no_gradient;
  const at::Tensor all = implementation_->forward(
      Implementation::tokens(text, static_cast<std::int64_t>(text.size())), false);
  return {all.data_ptr<float>(), all.data_ptr<float>() + all.numel()};
}

void Model::balance_experts(float rate) { implementation_->balance_experts(rate); }

}  // namespace godwit::trainer
