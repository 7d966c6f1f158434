// The shape of the reference model and where each of its tensors lies in one flat fp32 buffer.
// The model is DeepSeek-V3's: multi-head latent attention, then a dense SwiGLU or a mixture of
// experts. Names and shapes are those of the public checkpoints, so an exported file carries them.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "shared/base/result.h"

namespace godwit::trainer {

struct ModelShape {
  std::int64_t vocabulary = 256;  // bytes
  std::int64_t hidden = 0;
  std::int64_t layers = 0;
  std::int64_t dense_layers = 1;  // the first ones; the others mix experts
  std::int64_t heads = 0;
  std::int64_t nope = 0;   // per head: query and key channels without position
  std::int64_t rope = 0;   // per head: channels that are rotated; the key's are shared by all heads
  std::int64_t value = 0;  // per head
  std::int64_t latent = 0;  // rank of the compressed keys and values (kv_lora_rank)
  std::int64_t dense_inner = 0;
  std::int64_t expert_inner = 0;
  std::int64_t experts = 0;  // routed; one more is shared by all tokens
  std::int64_t experts_per_token = 0;

  std::int64_t query_channels() const { return heads * (nope + rope); }
};

// "nano" (about 1 M parameters) or "mini" (about 10 M). Errors: kConfig.
Result<ModelShape> model_shape(std::string_view size);

// One tensor of the checkpoint: values [offset, offset + count) of the flat buffer, row-major.
struct ModelTensor {
  std::string name;
  std::vector<std::int64_t> shape;
  std::size_t offset = 0;
  std::size_t count = 0;
  bool trained = true;  // by gradient; false: the routing bias, moved by the balancing rule

  bool is_matrix() const { return shape.size() > 1; }
};

// Tensors that one operation uses together lie next to each other: a block.
struct Block {
  std::size_t offset = 0;
  std::vector<std::int64_t> shape;  // empty: the layer has no such block
};

struct LayerBlocks {
  Block attention_norm, attention_in, latent_norm, key_value, attention_out;
  Block feed_norm, feed_in, feed_out;                 // dense layer, or the shared expert
  Block router, routing_bias, expert_in, expert_out;  // mixture of experts only

  bool has_experts() const { return !router.shape.empty(); }
};

struct ModelLayout {
  std::vector<ModelTensor> tensors;  // in order of offset, without gaps
  std::size_t count = 0;             // values of the flat buffer
  Block embedding, final_norm, head;
  std::vector<LayerBlocks> layers;
};

ModelLayout model_layout(const ModelShape& shape);

}  // namespace godwit::trainer
