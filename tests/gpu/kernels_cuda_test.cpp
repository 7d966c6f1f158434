// Every GPU kernel against the scalar reference, on lengths around a quad, a thread block and a chunk.
#include "shared/tensor/kernels_cuda.h"

#include "shared/tensor/kernels.h"
#include "tests/gpu/gpu_fixture.h"

namespace godwit {
namespace {

constexpr std::size_t kLengths[] = {0,    1,    3,    4,    5,    31,      255,     256,
                                    1023, 1024, 1025, 4095, 4097, 1 << 18, 3 * (1 << 18) + 777};
using Floats = std::vector<float>;

class GpuKernel : public GpuTest, public testing::WithParamInterface<GpuSample> {
 protected:
  // Runs `body(a, b, c)` on values of each length.
  template <class Body>
  void on_all_lengths(Body body) {
    for (const std::size_t length : kLengths) {
      SCOPED_TRACE("length " + std::to_string(length));
      Random random(length + 1);
      const Floats a = GetParam().values(length, random);
      const Floats b = GetParam().values(length, random);
      const Floats c = GetParam().values(length, random);
      body(a, b, c);
      if (HasFailure()) return;
    }
  }
  DeviceArray<float> on_device(const Floats& values) { return {values, stream()}; }
};

INSTANTIATE_TEST_SUITE_P(Samples, GpuKernel, testing::ValuesIn(gpu_samples()),
                         [](const auto& info) { return info.param.name; });

TEST_P(GpuKernel, AddMatchesAlsoOntoItself) {
  on_all_lengths([this](Floats a, const Floats& b, Floats c) {
    auto target = on_device(a);
    auto source = on_device(b);
    auto twice = on_device(c);
    expect_ok(cuda::add(target.data(), source.data(), a.size(), stream()));
    expect_ok(cuda::add(twice.data(), twice.data(), c.size(), stream()));
    kernels::add(a, b);
    kernels::add(c, c);
    expect_same(target.read(), a);
    expect_same(source.read(), b);
    expect_same(twice.read(), c);
  });
}

TEST_P(GpuKernel, AddScaledMatches) {
  on_all_lengths([this](Floats a, const Floats& b, const Floats&) {
    auto target = on_device(a);
    auto source = on_device(b);
    expect_ok(cuda::add_scaled(target.data(), source.data(), a.size(), 0.3F, stream()));
    kernels::add_scaled(a, b, 0.3F);
    expect_same(target.read(), a);
  });
}

TEST_P(GpuKernel, SubtractMatchesAlsoInPlace) {
  on_all_lengths([this](Floats a, const Floats& b, const Floats& c) {
    auto out = on_device(a);
    auto left = on_device(b);
    auto right = on_device(c);
    expect_ok(cuda::subtract(out.data(), left.data(), right.data(), a.size(), stream()));
    expect_ok(cuda::subtract(left.data(), left.data(), right.data(), a.size(), stream()));
    kernels::subtract(a, b, c);
    expect_same(out.read(), a);
    expect_same(left.read(), a);
  });
}

TEST_P(GpuKernel, ScaleMatches) {
  on_all_lengths([this](Floats a, const Floats&, const Floats&) {
    auto target = on_device(a);
    expect_ok(cuda::scale(target.data(), a.size(), 0.3F, stream()));
    kernels::scale(a, 0.3F);
    expect_same(target.read(), a);
  });
}

TEST_P(GpuKernel, SgdStepMatchesAlsoInPlace) {
  on_all_lengths([this](Floats a, const Floats& b, const Floats& c) {
    auto next = on_device(a);
    auto base = on_device(b);
    auto sum = on_device(c);
    expect_ok(cuda::sgd_step(next.data(), base.data(), sum.data(), a.size(), 0.3F, 0.7F, stream()));
    expect_ok(cuda::sgd_step(base.data(), base.data(), sum.data(), a.size(), 0.3F, 0.7F, stream()));
    kernels::sgd_step(a, b, c, 0.3F, 0.7F);
    expect_same(next.read(), a);
    expect_same(base.read(), a);
  });
}

TEST_P(GpuKernel, NesterovStepMatchesInPlace) {
  on_all_lengths([this](Floats a, Floats b, const Floats& c) {
    auto base = on_device(a);
    auto velocity = on_device(b);
    auto sum = on_device(c);
    expect_ok(cuda::nesterov_step(base.data(), velocity.data(), base.data(), sum.data(), a.size(), 0.3F,
                                  0.7F, 0.9F, stream()));
    kernels::nesterov_step(a, b, a, c, 0.3F, 0.7F, 0.9F);
    expect_same(base.read(), a);
    expect_same(velocity.read(), b);
  });
}

// Blocks of a quad, of less and of more than a chunk, and larger than everything.
TEST_P(GpuKernel, SumsOfEveryBlockMatch) {
  on_all_lengths([this](const Floats& a, const Floats& b, const Floats&) {
    auto before = on_device(a);
    auto after = on_device(b);
    for (const std::size_t block : {std::size_t{4}, std::size_t{256}, std::size_t{5000}, std::size_t{1} << 18}) {
      if (a.size() / block > 10'000) continue;
      SCOPED_TRACE("blocks of " + std::to_string(block));
      std::vector<std::uint64_t> hashes;
      std::vector<std::uint64_t> changes;
      std::vector<std::uint64_t> not_finite;
      for (std::size_t at = 0; at < a.size(); at += block) {
        const auto old_block = std::span(a).subspan(at, std::min(block, a.size() - at));
        const auto new_block = std::span(b).subspan(at, old_block.size());
        hashes.push_back(kernels::block_hash(old_block).value());
        changes.push_back(kernels::block_hash_change(old_block, new_block));
        not_finite.push_back(0);
        for (const float& value : old_block)
          not_finite.back() += kernels::all_finite(std::span(&value, 1)) ? 0 : 1;
      }
      DeviceArray<std::uint64_t> sums(std::vector<std::uint64_t>(hashes.size(), 99), stream());
      expect_ok(cuda::block_hashes(sums.data(), before.data(), a.size(), block, stream()));
      EXPECT_EQ(sums.read(), hashes);
      expect_ok(cuda::block_hash_changes(sums.data(), before.data(), after.data(), a.size(), block, stream()));
      EXPECT_EQ(sums.read(), changes);
      expect_ok(cuda::count_not_finite(sums.data(), before.data(), a.size(), block, stream()));
      EXPECT_EQ(sums.read(), not_finite);
    }
  });
}

TEST_F(GpuTest, ArraysThatAreNotAlignedAreACallersBug) {
  testing::FLAGS_gtest_death_test_style = "threadsafe";
  DeviceArray<float> array(Floats(8), stream());
  EXPECT_DEATH((void)cuda::scale(array.data() + 1, 4, 2, stream()), "aligned to 16 bytes");
}

}  // namespace
}  // namespace godwit
