#include "server/cli/table.h"

#include <gtest/gtest.h>

namespace godwit::cli {
namespace {

TEST(Table, AlignsColumnsAndLeavesNoSpacesAtTheEnd) {
  Table table({{"REGION"}, {"VERSION", Table::Align::kRight}, {"STATE"}});
  table.add({"us-west", "18,204", "ok"});
  table.add({"größe", "9", ""});
  EXPECT_EQ(table.text(),
            "REGION    VERSION   STATE\n"
            "us-west    18,204   ok\n"
            "größe           9\n");
}

TEST(Table, NumbersForPeople) {
  EXPECT_EQ(with_separators(0), "0");
  EXPECT_EQ(with_separators(999), "999");
  EXPECT_EQ(with_separators(18204), "18,204");
  EXPECT_EQ(with_separators(1234567), "1,234,567");
  EXPECT_EQ(human_bytes(999), "999 B");
  EXPECT_EQ(human_bytes(31'200'000), "31.2 MB");
  EXPECT_EQ(human_bytes(999'960), "1.0 MB");
  EXPECT_EQ(human_seconds(4.13), "4.1s");
  EXPECT_EQ(human_seconds(3.0 * 86400 + 4 * 3600 + 59), "3d 4h");
  EXPECT_EQ(human_seconds(725), "12m 5s");
}

}  // namespace
}  // namespace godwit::cli
