// Every kernel against an obvious one-line reference, on lengths around every vector width,
// unaligned spans and hostile values. Equal means equal bits (any NaN equals any NaN).
#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <functional>
#include <limits>
#include <numeric>
#include <string>
#include <vector>

#include "shared/base/random.h"
#include "shared/tensor/kernels.h"

namespace godwit {
namespace {

constexpr std::size_t kLengths[] = {0, 1, 7, 8, 9, 31, 33, 1023, std::size_t{1} << 16};
using Fill = std::function<float(std::size_t, Random&)>;

float any_bits(Random& random) {
  return std::bit_cast<float>(static_cast<std::uint32_t>(random.next()));
}

struct Sample {
  std::string name;
  Fill fill;
};

const std::vector<Sample>& samples() {
  using Limits = std::numeric_limits<float>;
  static const std::vector<Sample> all = {
      {"normal", [](std::size_t, Random& random) { return static_cast<float>(random.normal()); }},
      {"all_negative",
       [](std::size_t, Random& random) { return -static_cast<float>(random.uniform()) - 0.25F; }},
      {"all_equal", [](std::size_t, Random&) { return 0.1F; }},
      {"any_bits", [](std::size_t, Random& random) { return any_bits(random); }},
      {"denormal",
       [](std::size_t, Random& random) {
         return std::bit_cast<float>(static_cast<std::uint32_t>(random.below(0x800000)));
       }},
      {"nan_and_infinity",
       [](std::size_t i, Random& random) {
         const float special[] = {Limits::quiet_NaN(), Limits::infinity(), -Limits::infinity(),
                                  -0.0F, Limits::max()};
         return i % 3 == 0 ? special[random.below(5)] : static_cast<float>(random.normal());
       }},
  };
  return all;
}

// Rounds a product or a sum on its own, whatever the compiler would like to fuse.
float rounded(float value) {
  volatile float barrier = value;
  return barrier;
}

bool same(float left, float right) {
  return std::bit_cast<std::uint32_t>(left) == std::bit_cast<std::uint32_t>(right) ||
         (std::isnan(left) && std::isnan(right));
}

void expect_same(std::span<const float> actual, const std::vector<float>& expected) {
  ASSERT_EQ(actual.size(), expected.size());
  for (std::size_t i = 0; i < expected.size(); ++i) {
    ASSERT_TRUE(same(actual[i], expected[i]))
        << "at " << i << ": " << actual[i] << " is not " << expected[i];
  }
}

// Values behind an odd offset, so that vector loads are unaligned.
class Unaligned {
 public:
  Unaligned(std::size_t length, std::size_t offset, const Fill& fill, Random& random)
      : storage_(length + offset + 1, kGuard), length_(length), offset_(offset) {
    for (std::size_t i = 0; i < length; ++i) span()[i] = fill(i, random);
  }
  std::span<float> span() { return std::span(storage_).subspan(offset_, length_); }
  std::vector<float> copy() { return {span().begin(), span().end()}; }
  bool guards_intact() const {
    return storage_.back() == kGuard && (offset_ == 0 || storage_[offset_ - 1] == kGuard);
  }

 private:
  static constexpr float kGuard = 12345.0F;
  std::vector<float> storage_;
  std::size_t length_;
  std::size_t offset_;
};

class Kernel : public testing::TestWithParam<Sample> {
 protected:
  // Runs `body(a, b, c, d)` on fresh spans of each length and offset.
  template <class Body>
  void on_all_shapes(Body body) {
    for (const std::size_t length : kLengths) {
      for (const std::size_t offset : {0U, 1U, 3U}) {
        SCOPED_TRACE("length " + std::to_string(length) + " offset " + std::to_string(offset));
        Random random(length * 4 + offset);
        Unaligned a(length, offset, GetParam().fill, random);
        Unaligned b(length, (offset + 1) % 4, GetParam().fill, random);
        Unaligned c(length, 2, GetParam().fill, random);
        Unaligned d(length, offset, GetParam().fill, random);
        body(a, b, c, d);
        EXPECT_TRUE(a.guards_intact() && b.guards_intact() && c.guards_intact() &&
                    d.guards_intact());
        if (HasFatalFailure()) return;
      }
    }
  }
};

INSTANTIATE_TEST_SUITE_P(Samples, Kernel, testing::ValuesIn(samples()),
                         [](const auto& info) { return info.param.name; });

TEST_P(Kernel, AddScaledRoundsProductThenSum) {
  on_all_shapes([](Unaligned& target, Unaligned& source, Unaligned&, Unaligned&) {
    std::vector<float> expected = target.copy();
    for (std::size_t i = 0; i < expected.size(); ++i)
      expected[i] = rounded(expected[i] + rounded(0.3F * source.span()[i]));
    kernels::add_scaled(target.span(), source.span(), 0.3F);
    expect_same(target.span(), expected);
  });
}

TEST_P(Kernel, AddAddsElementwiseAndInPlace) {
  on_all_shapes([](Unaligned& target, Unaligned& source, Unaligned& same_span, Unaligned&) {
    std::vector<float> expected = target.copy();
    for (std::size_t i = 0; i < expected.size(); ++i) expected[i] += source.span()[i];
    kernels::add(target.span(), source.span());
    expect_same(target.span(), expected);
    std::vector<float> doubled = same_span.copy();
    for (float& value : doubled) value += value;
    kernels::add(same_span.span(), same_span.span());
    expect_same(same_span.span(), doubled);
  });
}

TEST_P(Kernel, SubtractSubtractsElementwiseAndInPlace) {
  on_all_shapes([](Unaligned& out, Unaligned& left, Unaligned& right, Unaligned&) {
    std::vector<float> expected = left.copy();
    for (std::size_t i = 0; i < expected.size(); ++i) expected[i] -= right.span()[i];
    kernels::subtract(out.span(), left.span(), right.span());
    expect_same(out.span(), expected);
    kernels::subtract(left.span(), left.span(), right.span());
    expect_same(left.span(), expected);
  });
}

TEST_P(Kernel, ScaleMultipliesElementwise) {
  on_all_shapes([](Unaligned& target, Unaligned&, Unaligned&, Unaligned&) {
    std::vector<float> expected = target.copy();
    for (float& value : expected) value *= 0.3F;
    kernels::scale(target.span(), 0.3F);
    expect_same(target.span(), expected);
  });
}

TEST_P(Kernel, SumOfSquaresIsADoubleSumInAFixedOrder) {
  on_all_shapes([](Unaligned& values, Unaligned&, Unaligned&, Unaligned&) {
    std::vector<double> lanes(kernels::kSquareLanes);
    std::size_t index = 0;
    for (const float value : values.span()) lanes[index++ % lanes.size()] += double{value} * double{value};
    const double expected = std::accumulate(lanes.begin(), lanes.end(), 0.0);
    const double actual = kernels::sum_of_squares(values.span());
    if (std::isnan(expected)) {
      EXPECT_TRUE(std::isnan(actual));
    } else {
      EXPECT_EQ(actual, expected);
    }
  });
}

TEST_P(Kernel, AllFiniteFindsEveryNanAndInfinity) {
  on_all_shapes([](Unaligned& values, Unaligned&, Unaligned&, Unaligned&) {
    bool expected = true;
    for (const float value : values.span()) expected = expected && std::isfinite(value);
    EXPECT_EQ(kernels::all_finite(values.span()), expected);
  });
}

TEST_P(Kernel, SgdStepMatchesItsFormulaAlsoInPlace) {
  on_all_shapes([](Unaligned& next, Unaligned& base, Unaligned& sum, Unaligned&) {
    std::vector<float> expected = base.copy();
    for (std::size_t i = 0; i < expected.size(); ++i) {
      const float gradient = rounded(sum.span()[i] * 0.3F);
      expected[i] = rounded(expected[i] - rounded(0.7F * gradient));
    }
    kernels::sgd_step(next.span(), base.span(), sum.span(), 0.3F, 0.7F);
    expect_same(next.span(), expected);
    kernels::sgd_step(base.span(), base.span(), sum.span(), 0.3F, 0.7F);
    expect_same(base.span(), expected);
  });
}

TEST_P(Kernel, NesterovStepMatchesItsFormulaAlsoInPlace) {
  on_all_shapes([](Unaligned& next, Unaligned& velocity, Unaligned& base, Unaligned& sum) {
    std::vector<float> expected = base.copy();
    std::vector<float> expected_velocity = velocity.copy();
    std::vector<float> velocity_again = velocity.copy();
    for (std::size_t i = 0; i < expected.size(); ++i) {
      const float gradient = rounded(sum.span()[i] * 0.3F);
      float& v = expected_velocity[i];
      v = rounded(rounded(0.9F * v) + gradient);
      expected[i] = rounded(expected[i] - rounded(0.7F * rounded(gradient + rounded(0.9F * v))));
    }
    kernels::nesterov_step(next.span(), velocity.span(), base.span(), sum.span(), 0.3F, 0.7F, 0.9F);
    expect_same(next.span(), expected);
    expect_same(velocity.span(), expected_velocity);
    kernels::nesterov_step(base.span(), velocity_again, base.span(), sum.span(), 0.3F, 0.7F, 0.9F);
    expect_same(base.span(), expected);
  });
}

// The whole of what the formats rely on: one changed bit anywhere is seen.
TEST(AllFinite, FindsOneBadValueAtEveryPosition) {
  std::vector<float> values(67, std::numeric_limits<float>::max());
  for (std::size_t i = 0; i < values.size(); ++i) {
    for (const float bad :
         {std::numeric_limits<float>::quiet_NaN(), std::numeric_limits<float>::infinity(),
          -std::numeric_limits<float>::infinity()}) {
      values[i] = bad;
      EXPECT_FALSE(kernels::all_finite(values));
      values[i] = -std::numeric_limits<float>::max();
      EXPECT_TRUE(kernels::all_finite(values));
    }
  }
}

TEST(SumOfSquares, DoesNotOverflowOrVanishInFloat) {
  const std::vector<float> values = {1e30F, 1e-30F};
  EXPECT_EQ(kernels::sum_of_squares(values),
            double{1e30F} * double{1e30F} + double{1e-30F} * double{1e-30F});
}

TEST(KernelDeathTest, UnequalLengthsAreACallersBug) {
  std::vector<float> two(2);
  std::vector<float> three(3);
  EXPECT_DEATH(kernels::add(two, three), "equal length");
  EXPECT_DEATH(kernels::add_scaled(two, three, 1), "equal length");
  EXPECT_DEATH(kernels::subtract(two, two, three), "equal length");
  EXPECT_DEATH(kernels::sgd_step(two, three, two, 1, 1), "equal length");
  EXPECT_DEATH(kernels::nesterov_step(two, three, two, two, 1, 1, 0), "equal length");
  EXPECT_DEATH(kernels::block_hash_change(two, three), "equal length");
}

}  // namespace
}  // namespace godwit
