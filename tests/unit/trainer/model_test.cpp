#include "worker/trainer/model.h"

#include <gtest/gtest.h>

#include <cmath>
#include <numeric>

#include "shared/base/random.h"
#include "tests/unit/trainer/tiny_model.h"
#include "worker/trainer/optimizer.h"

namespace godwit::trainer {
namespace {

constexpr const char* kBias = "model.layers.1.mlp.gate.e_score_correction_bias";

TEST(ModelLayout, NamesAndShapesAreThoseOfDeepSeekCheckpoints) {
  const ModelShape shape = *model_shape("nano");
  const Model model(shape, 1);
  const auto has = [&](const std::string& name, const std::vector<std::int64_t>& expected) {
    EXPECT_EQ(tensor_named(model, name).shape, expected) << name;
  };
  has("model.embed_tokens.weight", {256, shape.hidden});
  has("lm_head.weight", {256, shape.hidden});
  has("model.norm.weight", {shape.hidden});
  has("model.layers.2.input_layernorm.weight", {shape.hidden});
  has("model.layers.2.post_attention_layernorm.weight", {shape.hidden});
  has("model.layers.0.self_attn.q_proj.weight",
      {shape.heads * (shape.nope + shape.rope), shape.hidden});
  has("model.layers.0.self_attn.kv_a_proj_with_mqa.weight",
      {shape.latent + shape.rope, shape.hidden});
  has("model.layers.0.self_attn.kv_a_layernorm.weight", {shape.latent});
  has("model.layers.0.self_attn.kv_b_proj.weight",
      {shape.heads * (shape.nope + shape.value), shape.latent});
  has("model.layers.0.self_attn.o_proj.weight", {shape.hidden, shape.heads * shape.value});
  has("model.layers.0.mlp.gate_proj.weight", {shape.dense_inner, shape.hidden});
  has("model.layers.0.mlp.down_proj.weight", {shape.hidden, shape.dense_inner});
  has("model.layers.1.mlp.gate.weight", {shape.experts, shape.hidden});
  has(kBias, {shape.experts});
  has("model.layers.1.mlp.experts.7.up_proj.weight", {shape.expert_inner, shape.hidden});
  has("model.layers.1.mlp.experts.0.down_proj.weight", {shape.hidden, shape.expert_inner});
  has("model.layers.2.mlp.shared_experts.gate_proj.weight", {shape.expert_inner, shape.hidden});
}

TEST(ModelLayout, TensorsFillTheBufferAndOnlyRoutingBiasesAreUntrained) {
  const ModelLayout layout = model_layout(*model_shape("mini"));
  std::size_t next = 0;
  for (const ModelTensor& tensor : layout.tensors) {
    EXPECT_EQ(tensor.offset, next) << tensor.name;
    next += tensor.count;
    EXPECT_EQ(tensor.trained, !tensor.name.ends_with("e_score_correction_bias")) << tensor.name;
  }
  EXPECT_EQ(layout.count, next);
}

TEST(ModelLayout, SizesHaveTheStatedParameters) {
  EXPECT_NEAR(static_cast<double>(model_layout(*model_shape("nano")).count), 1e6, 1e5);
  EXPECT_NEAR(static_cast<double>(model_layout(*model_shape("mini")).count), 1e7, 1e6);
  EXPECT_EQ(model_shape("huge").error().code, Errc::kConfig);
}

TEST(Model, SameSeedGivesTheSameParameters) {
  Model a(tiny_shape(), 5);
  Model b(tiny_shape(), 5);
  Model c(tiny_shape(), 6);
  EXPECT_TRUE(std::ranges::equal(a.parameters(), b.parameters()));
  EXPECT_FALSE(std::ranges::equal(a.parameters(), c.parameters()));
}

TEST(Model, LaterBytesDoNotChangeEarlierLogits) {
  Model model(tiny_shape(), 1);
  std::vector<std::uint8_t> text = bytes_of("In the beginning");
  const std::vector<float> before = model.logits(text);
  text[10] = 'X';
  const std::vector<float> after = model.logits(text);
  const std::size_t row = 256;
  for (std::size_t i = 0; i < 10 * row; ++i)
    ASSERT_NEAR(before[i], after[i], 1e-6) << "position " << i / row;
  for (std::size_t position = 10; position < text.size(); ++position) {
    float change = 0;
    for (std::size_t i = position * row; i < (position + 1) * row; ++i)
      change += std::abs(before[i] - after[i]);
    EXPECT_GT(change, 1e-6F) << "position " << position;
  }
}

TEST(Model, RotationTellsPositionsApart) {
  ModelShape shape = tiny_shape();
  shape.layers = 1;  // one causal attention sees a set of bytes, were it not for the rotation
  Model model(shape, 1);
  for (float& value : model.parameters()) value *= 10;  // sharper attention than at the start
  const std::vector<float> logits = model.logits(bytes_of("abac"));
  const std::vector<float> swapped = model.logits(bytes_of("baac"));
  float change = 0;
  for (std::size_t i = 3 * 256; i < 4 * 256; ++i) change += std::abs(logits[i] - swapped[i]);
  EXPECT_GT(change, 1e-3F);
}

TEST(Model, GradientIsTheSlopeOfTheLoss) {
  ModelShape shape = tiny_shape();
  shape.experts_per_token = 3;
  Model model(shape, 2);
  for (float& value : model.parameters()) value *= 4;  // away from the nearly linear start
  values_of(model, kBias)[3] = -9;                     // never chosen: routing stays as it is
  const std::vector<std::uint8_t> windows = bytes_of("abcdefghhgfedcba");
  model.accumulate_gradient(windows, 8, 1);
  const std::vector<float> gradient(model.gradients().begin(), model.gradients().end());

  const ModelTensor& unused = tensor_named(model, "model.layers.1.mlp.experts.3.up_proj.weight");
  for (std::size_t i = 0; i < unused.count; ++i) ASSERT_EQ(gradient[unused.offset + i], 0.0F);
  for (const ModelTensor& tensor : model.layout().tensors) {
    if (!tensor.trained || &tensor == &unused || tensor.name.find("experts.3") != std::string::npos)
      continue;
    const std::span<float> values = model.parameters().subspan(tensor.offset, tensor.count);
    const std::vector<float> kept(values.begin(), values.end());
    const std::span<const float> slope = std::span(gradient).subspan(tensor.offset, tensor.count);
    const double norm =
        std::sqrt(std::inner_product(slope.begin(), slope.end(), slope.begin(), 0.0));
    ASSERT_GT(norm, 0) << tensor.name;
    const double step = std::min(2e-2, 1e-2 / norm);  // the loss changes by about a hundredth
    const auto loss_at = [&](double distance) {
      for (std::size_t i = 0; i < values.size(); ++i) {
        values[i] = kept[i] + static_cast<float>(distance / norm) * slope[i];
      }
      return static_cast<double>(model.loss(windows, 8));
    };
    const double measured = (loss_at(step) - loss_at(-step)) / (2 * step);
    std::ranges::copy(kept, values.begin());
    EXPECT_NEAR(measured, norm, 0.02 * norm + 2e-4) << tensor.name;
  }
}

TEST(Model, GradientsOfPartsAddUpToThatOfTheWhole) {
  Model model(tiny_shape(), 3);
  const std::vector<std::uint8_t> windows = bytes_of("abcdefghhgfedcba");
  model.accumulate_gradient(windows, 8, 1);
  const std::vector<float> whole(model.gradients().begin(), model.gradients().end());
  std::ranges::fill(model.gradients(), 0.0F);
  model.accumulate_gradient(std::span(windows).first(8), 8, 0.5F);
  model.accumulate_gradient(std::span(windows).last(8), 8, 0.5F);
  for (std::size_t i = 0; i < whole.size(); ++i) ASSERT_NEAR(model.gradients()[i], whole[i], 1e-5F);
}

TEST(Model, LearnsATinyTextByHeart) {
  Model model(tiny_shape(), 4);
  AdamW optimizer(model.layout());
  const std::vector<std::uint8_t> text = bytes_of("In the beginning God created the");
  const auto length = static_cast<std::int64_t>(text.size());
  const float before = model.loss(text, length);
  for (int i = 0; i < 30; ++i) {
    model.accumulate_gradient(text, length, 1);
    optimizer.step(model.parameters(), model.gradients(), 1e-2);
  }
  EXPECT_NEAR(before, std::log(256.0F), 0.2F);
  EXPECT_LT(model.loss(text, length), 1.5F);
}

TEST(Model, BalancingFollowsTheLoadOfTheExperts) {
  Model model(tiny_shape(), 1);
  std::span<float> bias = values_of(model, kBias);
  bias[0] = bias[1] = 5;  // every token goes to experts 0 and 1
  const std::vector<std::uint8_t> text = bytes_of("abcdefgh");
  model.accumulate_gradient(text, 8, 1);
  model.balance_experts(0.5F);
  EXPECT_FLOAT_EQ(bias[0], 4.5F);
  EXPECT_FLOAT_EQ(bias[1], 4.5F);
  EXPECT_FLOAT_EQ(bias[2], 0.5F);
  EXPECT_FLOAT_EQ(bias[3], 0.5F);
  model.loss(text, 8);  // evaluation does not count
  model.balance_experts(0.5F);
  EXPECT_FLOAT_EQ(bias[0], 4.5F);
}

}  // namespace
}  // namespace godwit::trainer
