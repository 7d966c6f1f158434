#include "worker/trainer/model_shape.h"

#include <functional>
#include <numeric>

#include "shared/base/check.h"

namespace godwit::trainer {
namespace {

struct Part {
  std::string name;
  std::vector<std::int64_t> shape;
};

std::size_t count_of(const std::vector<std::int64_t>& shape) {
  return static_cast<std::size_t>(
      std::accumulate(shape.begin(), shape.end(), std::int64_t{1}, std::multiplies<>()));
}

class LayoutBuilder {
 public:
  Block add(std::vector<std::int64_t> block_shape, std::vector<Part> parts, bool trained = true) {
    Block block{layout.count, std::move(block_shape)};
    for (Part& part : parts) {
      const std::size_t count = count_of(part.shape);
      layout.tensors.push_back(
          {std::move(part.name), std::move(part.shape), layout.count, count, trained});
      layout.count += count;
    }
    GODWIT_CHECK(layout.count - block.offset == count_of(block.shape), "parts fill their block");
    return block;
  }
  Block add(Part part, bool trained = true) {
    std::vector<std::int64_t> shape = part.shape;
    return add(std::move(shape), {std::move(part)}, trained);
  }
  ModelLayout layout;
};

void add_attention(LayoutBuilder& builder, LayerBlocks& layer, const ModelShape& shape,
                   const std::string& prefix) {
  const std::int64_t d = shape.hidden;
  const std::int64_t compressed = shape.latent + shape.rope;
  const std::int64_t expanded = shape.heads * (shape.nope + shape.value);
  const std::string attention = prefix + "self_attn.";
  layer.attention_norm = builder.add({prefix + "input_layernorm.weight", {d}});
  layer.attention_in = builder.add({shape.query_channels() + compressed, d},
                                   {{attention + "q_proj.weight", {shape.query_channels(), d}},
                                    {attention + "kv_a_proj_with_mqa.weight", {compressed, d}}});
  layer.latent_norm = builder.add({attention + "kv_a_layernorm.weight", {shape.latent}});
  layer.key_value = builder.add({attention + "kv_b_proj.weight", {expanded, shape.latent}});
  layer.attention_out = builder.add({attention + "o_proj.weight", {d, shape.heads * shape.value}});
}

void add_feed_forward(LayoutBuilder& builder, LayerBlocks& layer, const std::string& prefix,
                      std::int64_t d, std::int64_t inner) {
  layer.feed_in = builder.add({2 * inner, d}, {{prefix + "gate_proj.weight", {inner, d}},
                                               {prefix + "up_proj.weight", {inner, d}}});
  layer.feed_out = builder.add({prefix + "down_proj.weight", {d, inner}});
}

void add_experts(LayoutBuilder& builder, LayerBlocks& layer, const ModelShape& shape,
                 const std::string& prefix) {
  const std::int64_t d = shape.hidden;
  const std::int64_t inner = shape.expert_inner;
  layer.router = builder.add({prefix + "gate.weight", {shape.experts, d}});
  layer.routing_bias =
      builder.add({prefix + "gate.e_score_correction_bias", {shape.experts}}, false);
  std::vector<Part> in;
  std::vector<Part> out;
  for (std::int64_t e = 0; e < shape.experts; ++e) {
    const std::string expert = prefix + "experts." + std::to_string(e) + ".";
    in.push_back({expert + "gate_proj.weight", {inner, d}});
    in.push_back({expert + "up_proj.weight", {inner, d}});
    out.push_back({expert + "down_proj.weight", {d, inner}});
  }
  layer.expert_in = builder.add({shape.experts, 2 * inner, d}, std::move(in));
  layer.expert_out = builder.add({shape.experts, d, inner}, std::move(out));
  add_feed_forward(builder, layer, prefix + "shared_experts.", d, inner);
}

}  // namespace

Result<ModelShape> model_shape(std::string_view size) {
  if (size == "nano") {
    return ModelShape{.hidden = 128,
                      .layers = 3,
                      .heads = 4,
                      .nope = 16,
                      .rope = 16,
                      .value = 32,
                      .latent = 32,
                      .dense_inner = 384,
                      .expert_inner = 96,
                      .experts = 8,
                      .experts_per_token = 2};
  }
  if (size == "mini") {
    return ModelShape{.hidden = 256,
                      .layers = 6,
                      .heads = 8,
                      .nope = 16,
                      .rope = 16,
                      .value = 32,
                      .latent = 64,
                      .dense_inner = 768,
                      .expert_inner = 192,
                      .experts = 10,
                      .experts_per_token = 2};
  }
  return Error{Errc::kConfig, "unknown model size '" + std::string(size) + "': use nano or mini"};
}

ModelLayout model_layout(const ModelShape& shape) {
  LayoutBuilder builder;
  ModelLayout& layout = builder.layout;
  layout.embedding = builder.add({"model.embed_tokens.weight", {shape.vocabulary, shape.hidden}});
  for (std::int64_t i = 0; i < shape.layers; ++i) {
    const std::string prefix = "model.layers." + std::to_string(i) + ".";
    LayerBlocks layer;
    add_attention(builder, layer, shape, prefix);
    layer.feed_norm = builder.add({prefix + "post_attention_layernorm.weight", {shape.hidden}});
    if (i < shape.dense_layers) {
      add_feed_forward(builder, layer, prefix + "mlp.", shape.hidden, shape.dense_inner);
    } else {
      add_experts(builder, layer, shape, prefix + "mlp.");
    }
    layout.layers.push_back(std::move(layer));
  }
  layout.final_norm = builder.add({"model.norm.weight", {shape.hidden}});
  layout.head = builder.add({"lm_head.weight", {shape.vocabulary, shape.hidden}});
  return std::move(builder.layout);
}

}  // namespace godwit::trainer
