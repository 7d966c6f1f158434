// What every GPU test needs: a stream (or a skip that says why), hostile values, and arrays on the
// device with a guard behind them.
#pragma once

#include <gtest/gtest.h>

#include <cstddef>
#include <optional>
#include <ostream>
#include <span>
#include <string>
#include <vector>

#include "shared/base/random.h"
#include "shared/tensor/cuda_device.h"

namespace godwit {

struct GpuSample {
  std::string name;
  float (*fill)(std::size_t i, Random& random);
  bool finite;

  std::vector<float> values(std::size_t count, Random& random) const;
};
const std::vector<GpuSample>& gpu_samples();
void PrintTo(const GpuSample& sample, std::ostream* out);  // for googletest

// Fails the test, naming the error.
void expect_ok(const Result<void>& result);
// Equal bits; any NaN equals any NaN.
void expect_same(const std::vector<float>& actual, const std::vector<float>& expected);

class GpuTest : public testing::Test {
 protected:
  void SetUp() override;  // skips without a device
  const cuda::Stream& stream() const { return *stream_; }

 private:
  std::optional<cuda::Stream> stream_;
};

// A copy of `values` on the device. read() waits, and fails the test if the guard was written to.
template <class T>
class DeviceArray {
 public:
  DeviceArray(std::vector<T> values, const cuda::Stream& stream)
      : size_(values.size()),
        stream_(stream),
        buffer_(*cuda::DeviceBuffer<T>::allocate(values.size() + kGuards)) {
    values.resize(size_ + kGuards, guard());
    expect_ok(cuda::copy_to_device(buffer_.data(), std::span<const T>(values), stream_));
    expect_ok(stream_.wait());
  }
  T* data() { return buffer_.data(); }
  std::vector<T> read() {
    std::vector<T> values(size_ + kGuards);
    expect_ok(cuda::copy_to_host(std::span(values), buffer_.data(), stream_));
    expect_ok(stream_.wait());
    for (std::size_t i = size_; i < values.size(); ++i)
      EXPECT_EQ(values[i], guard()) << "written past the end, at " << i << " of " << size_;
    values.resize(size_);
    return values;
  }

 private:
  static constexpr std::size_t kGuards = 16;
  static T guard() { return static_cast<T>(0x5A); }

  std::size_t size_;
  const cuda::Stream& stream_;
  cuda::DeviceBuffer<T> buffer_;
};

}  // namespace godwit
