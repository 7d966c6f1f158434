#include "tests/unit/codec/block_samples.h"

#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <functional>
#include <limits>

namespace godwit {
namespace {

using Limits = std::numeric_limits<float>;
using Fill = std::function<float(std::size_t, Random&)>;

std::vector<BlockSample> build_samples() {
  const std::vector<std::pair<std::string, Fill>> fills = {
      {"zero", [](std::size_t i, Random&) { return i % 2 == 0 ? 0.0F : -0.0F; }},
      {"denormal",
       [](std::size_t, Random& random) {
         return Limits::denorm_min() * static_cast<float>(random.below(100));
       }},
      {"tiny",
       [](std::size_t, Random& random) { return static_cast<float>(random.normal()) * 1e-36F; }},
      {"huge", [](std::size_t,
                  Random& random) { return random.chance(0.5) ? Limits::max() : -Limits::max(); }},
      {"all_equal", [](std::size_t, Random&) { return -0.1F; }},
      {"normal",
       [](std::size_t, Random& random) { return static_cast<float>(random.normal()) * 1e-3F; }},
      {"one_spike",
       [](std::size_t i, Random& random) {
         return i % 100 == 7 ? 1000.0F : static_cast<float>(random.normal());
       }},
      {"wide",
       [](std::size_t, Random& random) {
         return std::ldexp(static_cast<float>(random.normal()),
                           static_cast<int>(random.below(200)) - 100);
       }},
      {"any_bits", [](std::size_t, Random& random) { return finite_float(random); }},
  };
  std::vector<BlockSample> samples;
  Random random(7);
  for (const auto& [name, fill] : fills) {
    for (const std::size_t length : {0U, 1U, 2U, 255U, 256U, 257U, 1000U, 4096U}) {
      BlockSample sample{name + "_" + std::to_string(length), {}};
      for (std::size_t i = 0; i < length; ++i) sample.values.push_back(fill(i, random));
      samples.push_back(std::move(sample));
    }
  }
  return samples;
}

}  // namespace

const std::vector<BlockSample>& block_samples() {
  static const std::vector<BlockSample> samples = build_samples();
  return samples;
}

float finite_float(Random& random) {
  while (true) {
    const float value = std::bit_cast<float>(static_cast<std::uint32_t>(random.next()));
    if (std::isfinite(value)) return value;
  }
}

std::vector<CodecSpec> all_specs() {
  std::vector<CodecSpec> specs;
  for (const Codec* codec : CodecTable::standard().all()) {
    for (const bool zstd : {false, true}) specs.push_back({codec->id(), zstd});
  }
  return specs;
}

std::vector<float> decode_or_fail(CodecSpec spec, ByteView bytes, std::size_t count) {
  std::vector<float> values(count, 777.0F);
  const Result<void> decoded = decode_block(spec, bytes, values);
  EXPECT_TRUE(decoded.has_value()) << decoded.error().to_string();
  return decoded ? values : std::vector<float>();
}

}  // namespace godwit
