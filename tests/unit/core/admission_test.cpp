#include "server/core/admission.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "tests/unit/core/bench.h"

namespace godwit {
namespace {

using test::filled;
using test::make_push;
using test::PushParts;

class AdmissionTest : public ::testing::Test {
 protected:
  Result<Admission::Admitted> admit(const PushParts& parts, const std::vector<float>& d) {
    return admission_.admit(make_push(parts, d));
  }
  float clip_of(float scale) {
    const auto admitted = admit({}, std::vector<float>(16, scale));
    return admitted ? admitted->clip : -1;
  }

  RunSettings settings_ = test::small_settings();
  Layout layout_{test::small_manifest()};
  Admission admission_{settings_, layout_.shards[0], test::small_manifest().hash()};
};

TEST_F(AdmissionTest, DecodesTheWholePush) {
  const auto admitted = admit({}, filled(3));
  ASSERT_TRUE(admitted);
  EXPECT_EQ(admitted->values, filled(3));
  EXPECT_EQ(admitted->clip, 1);
}

TEST_F(AdmissionTest, TheFirstTwentyAreFreeThenTenTimesTheMedian) {
  EXPECT_EQ(clip_of(1), 1);
  EXPECT_EQ(clip_of(1e6F), 1) << "one of the free ones";
  for (int i = 2; i < 20; ++i) EXPECT_EQ(clip_of(1), 1);
  EXPECT_EQ(clip_of(9.9F), 1);
  EXPECT_FLOAT_EQ(clip_of(20), 0.5F);
  EXPECT_FLOAT_EQ(clip_of(1000), 0.01F);
}

TEST_F(AdmissionTest, TheBoundIsPerStep) {
  for (int i = 0; i < 20; ++i) EXPECT_EQ(clip_of(1), 1);
  PushParts longer;
  longer.steps = 4 * 8;
  EXPECT_EQ(admit(longer, std::vector<float>(16, 40))->clip, 1);
}

TEST_F(AdmissionTest, WhatIsNotFiniteOrAbsurdIsRefusedWithAReason) {
  for (const float bad : {std::numeric_limits<float>::quiet_NaN(), std::numeric_limits<float>::infinity(),
                          -std::numeric_limits<float>::infinity(), 1e16F, 3e38F}) {
    std::vector<float> d = filled(1);
    d[13] = bad;
    const auto admitted = admit({}, d);
    ASSERT_FALSE(admitted) << bad;
    EXPECT_EQ(admitted.error().code, Errc::kInvalid);
    EXPECT_FALSE(admitted.error().context.empty());
  }
}

TEST_F(AdmissionTest, HeadersBeyondTheCapsAreRefused) {
  const auto refused = [&](auto change, Errc code) {
    Push push = make_push({}, filled(1));
    change(push);
    const auto admitted = admission_.admit(push);
    return !admitted && admitted.error().code == code;
  };
  EXPECT_TRUE(refused([](Push& p) { p.header.manifest = Hash(1); }, Errc::kConflict));
  EXPECT_TRUE(refused([](Push& p) { p.header.weight = 0; }, Errc::kInvalid));
  EXPECT_TRUE(refused([](Push& p) { p.header.weight = std::nanf(""); }, Errc::kInvalid));
  EXPECT_TRUE(refused([](Push& p) { p.header.weight = 1e30F; }, Errc::kInvalid));
  EXPECT_TRUE(refused([](Push& p) { p.header.weight = 1e-44F, p.header.tokens = 0; }, Errc::kInvalid))
      << "one over it is infinite";
  EXPECT_TRUE(refused([](Push& p) { p.header.steps = 0; }, Errc::kInvalid));
  EXPECT_TRUE(refused([](Push& p) { p.header.steps = 1U << 30; }, Errc::kInvalid));
  EXPECT_TRUE(refused([](Push& p) { p.header.round = Round(); }, Errc::kInvalid));
  EXPECT_TRUE(refused([](Push& p) { p.header.tokens = 1U << 20; }, Errc::kInvalid));
  EXPECT_TRUE(refused([](Push& p) { p.payloads.pop_back(); }, Errc::kInvalid));
  EXPECT_TRUE(refused([](Push& p) { p.payloads[1] = share(Bytes(3)); }, Errc::kMalformed));
}

}  // namespace
}  // namespace godwit
