#include "tests/gpu/gpu_fixture.h"

#include <bit>
#include <cmath>
#include <limits>

namespace godwit {
namespace {

using Limits = std::numeric_limits<float>;

float any_bits(std::size_t, Random& random) {
  return std::bit_cast<float>(static_cast<std::uint32_t>(random.next()));
}
float finite_bits(std::size_t i, Random& random) {
  for (;;) {
    if (const float value = any_bits(i, random); std::isfinite(value)) return value;
  }
}
float normal(std::size_t, Random& random) { return static_cast<float>(random.normal()); }
float denormal(std::size_t, Random& random) {
  const auto bits = static_cast<std::uint32_t>(random.below(0x800000));
  return std::bit_cast<float>(bits | (random.chance(0.5) ? 0x80000000U : 0));
}
float huge(std::size_t, Random& random) {
  return static_cast<float>(random.uniform() * 2 - 1) * Limits::max();
}
// Between two representable integers once divided by a scale of 1: ties of every quantiser.
float halves(std::size_t i, Random& random) {
  return i % 256 == 0 ? 127.0F : static_cast<float>(random.below(507)) / 2 - 126.5F;
}
float nan_and_infinity(std::size_t i, Random& random) {
  const float special[] = {Limits::quiet_NaN(), Limits::infinity(), -Limits::infinity(), -0.0F,
                           Limits::max()};
  return i % 3 == 0 ? special[random.below(5)] : normal(i, random);
}

}  // namespace

std::vector<float> GpuSample::values(std::size_t count, Random& random) const {
  std::vector<float> all(count);
  for (std::size_t i = 0; i < count; ++i) all[i] = fill(i, random);
  return all;
}

const std::vector<GpuSample>& gpu_samples() {
  static const std::vector<GpuSample> all = {
      {"normal", normal, true},     {"denormal", denormal, true},        {"huge", huge, true},
      {"halves", halves, true},     {"finite_bits", finite_bits, true},  {"any_bits", any_bits, false},
      {"nan_and_infinity", nan_and_infinity, false},
  };
  return all;
}

void PrintTo(const GpuSample& sample, std::ostream* out) { *out << sample.name; }

void expect_ok(const Result<void>& result) {
  if (!result) ADD_FAILURE() << result.error().to_string();
}

void expect_same(const std::vector<float>& actual, const std::vector<float>& expected) {
  ASSERT_EQ(actual.size(), expected.size());
  for (std::size_t i = 0; i < expected.size(); ++i) {
    const bool same =
        std::bit_cast<std::uint32_t>(actual[i]) == std::bit_cast<std::uint32_t>(expected[i]) ||
        (std::isnan(actual[i]) && std::isnan(expected[i]));
    ASSERT_TRUE(same) << "at " << i << ": " << actual[i] << " is not " << expected[i];
  }
}

void GpuTest::SetUp() {
  const Result<std::string> device = cuda::device_name();
  if (!device) GTEST_SKIP() << device.error().context;
  Result<cuda::Stream> stream = cuda::Stream::create();
  ASSERT_TRUE(stream.has_value()) << stream.error().to_string();
  stream_ = *std::move(stream);
}

}  // namespace godwit
