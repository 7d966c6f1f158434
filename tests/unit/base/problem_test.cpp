#include "shared/base/problem.h"

#include <gtest/gtest.h>

#include <set>

namespace godwit {
namespace {

TEST(Problem, CodesAreUniqueAndEveryFieldIsFilled) {
  std::set<std::string_view> codes;
  for (const Problem& problem : problem_catalogue()) {
    EXPECT_TRUE(codes.insert(problem.code).second) << problem.code;
    EXPECT_EQ(problem.code.size(), std::string_view("GODWIT-E1001").size()) << problem.code;
    EXPECT_FALSE(problem.title.empty() || problem.cause.empty() || problem.fix.empty())
        << problem.code;
    EXPECT_GE(problem.http_status, 400) << problem.code;
    EXPECT_NE(problem.exit_code, 0) << problem.code;
  }
}

TEST(Problem, ExitCodesAreTheDocumentedOnes) {
  EXPECT_EQ(problem_of(Errc::kConfig).exit_code, 2);
  EXPECT_EQ(problem_of(Errc::kUnavailable).exit_code, 3);
  EXPECT_EQ(problem_of(Errc::kNotFound).exit_code, 4);
  EXPECT_EQ(problem_of(Errc::kConflict).exit_code, 5);
  EXPECT_EQ(problem_of(Errc::kForbidden).exit_code, 6);
  EXPECT_EQ(problem_of(Errc::kTimedOut).exit_code, 7);
  EXPECT_EQ(problem_of(Errc::kUnsupported).exit_code, 8);
  EXPECT_EQ(problem_of(Errc::kInternal).exit_code, 70);
}

TEST(Problem, AreFoundByAnySpelling) {
  for (const char* spelling : {"GODWIT-E1001", "E1001", "e1001", "1001", "godwit-e1001"}) {
    ASSERT_NE(find_problem(spelling), nullptr) << spelling;
    EXPECT_EQ(find_problem(spelling)->code, "GODWIT-E1001");
  }
  EXPECT_EQ(find_problem("E0000"), nullptr);
}

}  // namespace
}  // namespace godwit
