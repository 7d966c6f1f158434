#include "shared/base/result.h"

#include <gtest/gtest.h>

#include <memory>

#include "shared/base/random.h"

namespace godwit {
namespace {

Result<std::unique_ptr<int>> half(int value) {
  if (value % 2 != 0) return Error{Errc::kInvalid, "odd"};
  return std::make_unique<int>(value / 2);
}

TEST(Result, CarriesAMoveOnlyValueOrAnErrorThatSaysWhy) {
  ASSERT_TRUE(half(4));
  EXPECT_EQ(**half(4), 2);
  EXPECT_EQ(half(3).error().to_string(), "invalid: odd");
}

TEST(ResultDeathTest, TakingAValueThatIsNotThereAborts) {
  EXPECT_DEATH((void)*half(3), "invalid: odd");
}

TEST(Random, SameSeedSameStream) {
  Random a(7), b(7), c(8);
  EXPECT_EQ(a.next(), b.next());
  EXPECT_NE(a.next(), c.next());
}

}  // namespace
}  // namespace godwit
