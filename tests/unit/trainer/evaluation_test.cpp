#include "worker/trainer/evaluation.h"

#include <gtest/gtest.h>

#include <cmath>

#include "tests/unit/trainer/tiny_model.h"
#include "worker/trainer/trainer.h"

namespace godwit::trainer {
namespace {

TEST(Bigram, MatchesAHandComputedText) {
  const Bigram bigram(bytes_of("abab"));  // ab twice, ba once; a begins two pairs, b one
  const double ab = std::log2(2.01 / (2 + 2.56));
  const double ba = std::log2(1.01 / (1 + 2.56));
  const double ac = std::log2(0.01 / (2 + 2.56));
  EXPECT_NEAR(bigram.bits_per_byte(bytes_of("abac")), -(ab + ba + ac) / 3, 1e-12);
  EXPECT_NEAR(bigram.bits_per_byte(bytes_of("xy")), 8, 1e-12);
}

TEST(Evaluation, CountsEachByteOnceWhateverTheWindows) {
  Model model(tiny_shape(), 1);
  std::ranges::fill(model.parameters(), 0.0F);
  for (const std::size_t length : {2, 5, 64, 65, 66, 200}) {
    EXPECT_NEAR(bits_per_byte(model, std::vector<std::uint8_t>(length, 'a'), 4), 8, 1e-5) << length;
  }
  // Predicts only from the last byte: so windows cannot matter.
  Model order_one(tiny_shape(), 2);
  for (const ModelTensor& tensor : order_one.layout().tensors) {
    if (tensor.name.find("layers") == std::string::npos) continue;
    std::ranges::fill(order_one.parameters().subspan(tensor.offset, tensor.count), 0.0F);
  }
  const std::vector<std::uint8_t> text = bytes_of("the quick brown fox jumps over the lazy dog");
  const double whole = bits_per_byte(order_one, text, text.size());
  EXPECT_GT(std::abs(whole - 8), 1e-4);
  for (const std::size_t context : {1, 3, 10})
    EXPECT_NEAR(bits_per_byte(order_one, text, context), whole, 1e-5);
}

TEST(Evaluation, LoadsACheckpointAndNamesWhatDiffers) {
  Model written(tiny_shape(), 1);
  safetensors::File file;
  for (const TensorSpec& spec : tensor_specs(written)) {
    file.tensors.push_back({spec.name, spec.shape, {spec.values.begin(), spec.values.end()}});
  }
  Model read(tiny_shape(), 2);
  ASSERT_TRUE(load(read, file).has_value());
  EXPECT_TRUE(std::ranges::equal(read.parameters(), written.parameters()));
  file.tensors[3].name = "other";
  const Result<void> refused = load(read, file);
  ASSERT_FALSE(refused.has_value());
  EXPECT_EQ(refused.error().code, Errc::kConflict);
  EXPECT_NE(refused.error().context.find(written.layout().tensors[3].name), std::string::npos);
}

}  // namespace
}  // namespace godwit::trainer
