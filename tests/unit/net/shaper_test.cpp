#include "shared/net/shaper.h"

#include <gtest/gtest.h>

namespace godwit::net {
namespace {

constexpr std::size_t kPiece = 50'000;  // 2 ms at 200 Mbit/s
constexpr LinkShape kLink{milliseconds(40), 200'000'000};

TEST(Shaper, BytesEnterAtTheRateOneAfterAnother) {
  Shaper shaper(kLink);
  const TimePoint start(seconds(100));
  TimePoint now = start;
  for (int i = 0; i < 500; ++i) now = shaper.reserve(kPiece, now);
  EXPECT_NEAR(to_seconds(now - start), 1.0, to_seconds(kShaperSlack) + 1e-6);
}

TEST(Shaper, ConnectionsShareTheRate) {
  Shaper shaper(kLink);
  const TimePoint start(seconds(100));
  TimePoint a = start, b = start;
  for (int i = 0; i < 250; ++i) {
    a = shaper.reserve(kPiece, a);
    b = shaper.reserve(kPiece, b);
  }
  EXPECT_NEAR(to_seconds(b - start), 1.0, 0.01);
  EXPECT_NEAR(to_seconds(b - a), 0.002, 0.001) << "they take turns";
}

TEST(Shaper, ALateTimerCatchesUpButIdleTimeIsNotSaved) {
  Shaper shaper(kLink);
  const TimePoint start(seconds(100));
  TimePoint now = start;
  for (int i = 0; i < 500; ++i) now = shaper.reserve(kPiece, now) + std::chrono::microseconds(300);
  EXPECT_LT(to_seconds(now - start), 1.01);

  const TimePoint later = now + seconds(10);
  TimePoint end = later;
  for (int i = 0; i < 500; ++i) end = shaper.reserve(kPiece, end);
  EXPECT_GT(to_seconds(end - later), 0.99);
}

TEST(Shaper, NoRateMeansNoWaiting) {
  Shaper shaper(LinkShape{milliseconds(40), 0});
  const TimePoint now(seconds(100));
  EXPECT_EQ(shaper.reserve(1u << 30, now), now);
}

}  // namespace
}  // namespace godwit::net
