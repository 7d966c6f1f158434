// Handles of the CUDA runtime; the first test needs no device, and wants none.
#include <cstdint>
#include <limits>
#include <numeric>

#include "shared/tensor/kernels_cuda.h"
#include "tests/gpu/gpu_fixture.h"

namespace godwit {
namespace {

TEST(WithoutADevice, EveryHandleIsRefusedWithTheReason) {
  const Result<std::string> device = cuda::device_name();
  if (device) GTEST_SKIP() << "there is one: " << *device;
  EXPECT_EQ(device.error().code, Errc::kUnavailable);
  EXPECT_TRUE(device.error().context.starts_with("no CUDA device: ")) << device.error().context;
  const Result<cuda::Stream> stream = cuda::Stream::create();
  ASSERT_FALSE(stream);
  EXPECT_EQ(stream.error().code, Errc::kUnavailable) << stream.error().to_string();
  const auto buffer = cuda::DeviceBuffer<float>::allocate(1);
  ASSERT_FALSE(buffer);
  EXPECT_EQ(buffer.error().code, Errc::kUnavailable) << buffer.error().to_string();
}

TEST_F(GpuTest, WhatIsCopiedThereComesBack) {
  std::vector<std::uint32_t> values(100'003);
  std::iota(values.begin(), values.end(), 7U);
  EXPECT_EQ(DeviceArray<std::uint32_t>(values, stream()).read(), values);
}

TEST_F(GpuTest, AFullDeviceIsAnAnswer) {
  const auto buffer = cuda::DeviceBuffer<std::byte>::allocate(std::numeric_limits<std::size_t>::max() / 4);
  ASSERT_FALSE(buffer);
  EXPECT_EQ(buffer.error().code, Errc::kOverloaded) << buffer.error().to_string();
  DeviceArray<float> still_works({1.5F}, stream());
  expect_ok(cuda::scale(still_works.data(), 1, 2, stream()));
  EXPECT_EQ(still_works.read(), std::vector<float>{3});
}

}  // namespace
}  // namespace godwit
