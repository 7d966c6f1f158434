#include "server/storage/family_name.h"

#include <gtest/gtest.h>

namespace godwit {
namespace {

TEST(FamilyName, TheNamesOnDiskNeverChange) {
  std::string all;
  for (const Family family : kFamilies) all += std::string(name(family)) + " ";
  EXPECT_EQ(all, "log inputs outbox pushes snapshot meta control ");
}

TEST(FamilyName, KeysAreDescribedAsTextOrHex) {
  EXPECT_EQ(describe_key(Family::kControl, view("run/mode")), "control key \"run/mode\"");
  const Bytes binary = {std::byte{0}, std::byte{0x2a}, std::byte{0xff}};
  EXPECT_EQ(describe_key(Family::kLog, binary), "log key 0x002aff");
  EXPECT_EQ(describe_key(Family::kMeta, {}), "meta key 0x");
  EXPECT_EQ(describe_key(Family::kMeta, view(std::string(65, 'x'))),
            "meta key \"" + std::string(64, 'x') + "\"...");
}

}  // namespace
}  // namespace godwit
