// Each checker on a bad snippet (it can fail) and on a good one that resembles it, then on the real
// tree.
#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <vector>

#include "tests/tidy/coroutine_checks.h"
#include "tests/tidy/include_checks.h"
#include "tests/tidy/include_table.h"
#include "tests/tidy/ledger_checks.h"
#include "tests/tidy/size_checks.h"
#include "tests/tidy/source_tree.h"
#include "tests/tidy/text_checks.h"

namespace godwit::tidy {
namespace {

std::string report(const Violations& violations) {
  std::string text;
  for (const auto& violation : violations) text += violation.to_string() + "\n";
  return text;
}

testing::AssertionResult clean(const std::string& violations) {
  if (violations.empty()) return testing::AssertionSuccess();
  return testing::AssertionFailure() << "\n" << violations;
}

testing::AssertionResult clean(const Violations& violations) { return clean(report(violations)); }

// "rule" of each violation, in order.
std::vector<std::string> rules(const Violations& violations) {
  std::vector<std::string> names;
  for (const auto& violation : violations) names.push_back(violation.rule);
  return names;
}

using Rules = std::vector<std::string>;

Violations includes_in(const std::string& path, const std::string& text) {
  const std::vector<SourceFile> files = {{path, text},
                                         {"shared/base/result.h", ""},
                                         {"shared/net/stream.h", ""},
                                         {"server/core/store.h", ""},
                                         {"worker/core/rebase.h", ""},
                                         {"tests/support/clock.h", ""}};
  return check_includes(files, include_table());
}

Violations coroutines_in(const std::string& text) {
  return check_coroutines({"shared/net/snippet.cpp", text});
}

std::string repeat(const std::string& text, std::size_t count) {
  std::string all;
  for (std::size_t i = 0; i < count; ++i) all += text;
  return all;
}

// --- reading -------------------------------------------------------------------------------------

TEST(TidySource, BlanksCommentsAndLiteralsAndKeepsOffsets) {
  const std::string text = "a /* { */ \"}\\\"\" '{' 1'000 // x\nR\"(\n{)\" b";
  const std::string code = blank_comments_and_literals(text);
  EXPECT_EQ(code.size(), text.size());
  EXPECT_EQ(code.find_first_of("{}\""), std::string::npos) << code;
  EXPECT_NE(code.find("1'000"), std::string::npos);
  EXPECT_EQ(code.back(), 'b');
  EXPECT_EQ(std::count(code.begin(), code.end(), '\n'), 2);
}

TEST(TidySource, AReportNamesFileLineRuleAndFix) {
  EXPECT_EQ((Violation{"a/b.h", 3, "rule", "do this"}).to_string(), "a/b.h:3: rule: do this");
}

// --- arrows --------------------------------------------------------------------------------------

TEST(TidyIncludes, AnArrowThatGoesUpIsReportedWithItsLine) {
  const auto violations = includes_in("shared/base/a.h", "\n#include \"shared/net/stream.h\"\n");
  ASSERT_EQ(rules(violations), Rules{"include-arrow"});
  EXPECT_EQ(violations[0].line, 2U);
}

TEST(TidyIncludes, ServerAndWorkerAndTestsStayApart) {
  EXPECT_EQ(rules(includes_in("server/app/a.cpp", "#include \"worker/core/rebase.h\"\n")),
            Rules{"include-arrow"});
  EXPECT_EQ(rules(includes_in("server/cli/a.cpp", "#include \"server/core/store.h\"\n")),
            Rules{"include-arrow"});
  EXPECT_EQ(rules(includes_in("worker/main.cpp", "#include \"tests/support/clock.h\"\n")),
            Rules{"include-arrow"});
}

TEST(TidyIncludes, TheHistoryCheckerSharesNothing) {
  for (const char* header : {"shared/base/result.h", "server/core/store.h", "worker/core/rebase.h",
                             "tests/support/clock.h"}) {
    const std::string include = "#include \"" + std::string(header) + "\"\n";
    EXPECT_EQ(rules(includes_in("tests/history/a.cpp", include)), Rules{"include-arrow"}) << header;
  }
  EXPECT_TRUE(clean(includes_in("tests/history/a.cpp", "#include <boost/json.hpp>\n")));
}

TEST(TidyIncludes, ALibraryStaysInItsFolderAndFile) {
  EXPECT_EQ(rules(includes_in("server/core/a.h", "#include <boost/asio/post.hpp>\n")),
            Rules{"third-party"});
  EXPECT_EQ(rules(includes_in("server/core/a.h", "#include <unistd.h>\n")), Rules{"third-party"});
  EXPECT_EQ(rules(includes_in("server/storage/a.cpp", "#include <rocksdb/db.h>\n")),
            Rules{"third-party"});
  EXPECT_EQ(rules(includes_in("worker/app/a.cpp", "#include <torch/torch.h>\n")),
            Rules{"third-party"});
  EXPECT_EQ(rules(includes_in("shared/net/a.cpp", "#include <acme/anvil.hpp>\n")),
            Rules{"third-party"});
  EXPECT_EQ(rules(includes_in("shared/net/a.cpp", "#include \"stream.h\"\n")),
            Rules{"include-path"});
}

TEST(TidyIncludes, WhatTheTableAllowsPasses) {
  const std::string text =
      "#include \"server/core/store.h\"\n#include \"shared/base/result.h\"\n#include "
      "<rocksdb/db.h>\n#include <vector>\n"
      "// #include <torch/torch.h>\n";
  EXPECT_TRUE(clean(includes_in("server/storage/rocksdb_store.cpp", text)));
  EXPECT_TRUE(clean(includes_in("tests/unit/net/a_test.cpp", "#include <boost/asio/post.hpp>\n")));
}

TEST(TidyIncludes, ACycleIsNamed) {
  const auto violations = check_include_cycles({{"a/a.h", "#include \"a/b.h\"\n"},
                                                {"a/b.h", "#include \"a/c.h\"\n"},
                                                {"a/c.h", "#include \"a/b.h\"\n"}});
  ASSERT_EQ(rules(violations), Rules{"include-cycle"});
  EXPECT_EQ(violations[0].file, "a/b.h -> a/c.h -> a/b.h");
}

TEST(TidyIncludes, ATableWithACycleOrAnUnknownFolderIsNoLadder) {
  EXPECT_EQ(rules(check_ladder({{"a", {"b"}, {}}, {"b", {"a"}, {}}})), Rules{"include-table"});
  EXPECT_EQ(rules(check_ladder({{"a", {"nowhere"}, {}}})), Rules{"include-table"});
  EXPECT_EQ(rules(check_ladder({{"a", {}, {}}, {"a", {}, {}}})), Rules{"include-table"});
}

TEST(TidyIncludes, TheTableIsALadder) { EXPECT_TRUE(clean(check_ladder(include_table()))); }

// --- sizes ---------------------------------------------------------------------------------------

TEST(TidySizes, AFunctionIsMeasuredFromItsSignatureToItsBrace) {
  const SourceFile file("a/a.cpp",
                        "namespace x {\n"
                        "const int kTable[] = {\n  1,\n};\n"
                        "class Y {\n public:\n  Y() : a_{1}, b_{2} {\n  }\n  int a_, b_;\n};\n"
                        "#define OPEN {\n"
                        "template <class T = int>\nbool operator==(T a,\n                T b = {}) "
                        "{\n  if (a) {\n  }\n"
                        "  return true;\n}\n"
                        "}\n");
  const auto functions = find_functions(file);
  ASSERT_EQ(functions.size(), 2U);
  EXPECT_EQ(functions[0].first_line, 7U);
  EXPECT_EQ(functions[0].line_count, 2U);
  EXPECT_EQ(functions[1].first_line, 12U);
  EXPECT_EQ(functions[1].line_count, 7U);
}

TEST(TidySizes, ALongFunctionIsReportedAndALongClassIsNot) {
  const std::string body = repeat("  int x;\n", kFunctionLinesMax - 1);
  const auto violations = check_lengths({"a/a.cpp", "\nvoid f() {\n" + body + "}\n"});
  ASSERT_EQ(rules(violations), Rules{"function-length"});
  EXPECT_EQ(violations[0].line, 2U);
  EXPECT_TRUE(clean(check_lengths({"a/a.cpp", "class C {\n" + body + "};\n"})));
  EXPECT_EQ(rules(check_lengths({"a/a_test.cpp", "TEST(A, B) {\n" + body + "}\n"})),
            Rules{"function-length"});
}

TEST(TidySizes, LongFilesMainsAndLinesAreReported) {
  EXPECT_EQ(rules(check_lengths({"a/a.h", repeat("\n", kFileLinesMax + 1)})), Rules{"file-length"});
  EXPECT_TRUE(clean(check_lengths({"a/a.h", repeat("\n", kFileLinesMax)})));
  EXPECT_EQ(rules(check_lengths({"server/main.cpp", repeat("\n", kMainLinesMax + 1)})),
            Rules{"file-length"});
  EXPECT_EQ(rules(check_lengths({"a/a.sh", repeat("x", kLineCharactersMax + 1)})),
            Rules{"line-width"});
  EXPECT_TRUE(clean(check_lengths({"a/a.sh", repeat("é", kLineCharactersMax)})));
}

TEST(TidySizes, ALibraryNeedsAReadmeThatIsShort) {
  EXPECT_EQ(rules(check_readmes({{"shared/net/a.h", ""}})), Rules{"readme"});
  EXPECT_EQ(
      rules(check_readmes({{"shared/net/a.h", ""}, {"shared/net/README.md", repeat("x\n", 26)}})),
      Rules{"readme"});
  EXPECT_TRUE(
      clean(check_readmes({{"shared/net/a.h", ""}, {"shared/net/README.md", repeat("x\n", 25)}})));
  EXPECT_TRUE(clean(check_readmes({{"README.md", repeat("x\n", 99)}, {"server/main.cpp", ""}})));
}

// --- words ---------------------------------------------------------------------------------------

TEST(TidyText, AVagueNameIsReported) {
  EXPECT_EQ(rules(check_name({"shared/utils/a.h", ""})), Rules{"vague-name"});
  EXPECT_EQ(rules(check_name({"shared/net/socket_manager.cpp", ""})), Rules{"vague-name"});
  EXPECT_TRUE(clean(check_name({"shared/net/commonplace.h", ""})));
}

TEST(TidyText, LeftoversAreReportedInCommentsToo) {
  const std::string text =
      std::string("// TODO") + "(now): a\n// FIX" + "ME\nX" + "XX\n// TODO(someday): b\nXXXX\n";
  const auto violations = check_leftovers({"a/a.cpp", text});
  EXPECT_EQ(rules(violations), (Rules{"leftover", "leftover", "leftover"}));
  EXPECT_EQ(violations[1].line, 2U);
}

TEST(TidyText, AHeaderWithoutPragmaOnceIsReported) {
  EXPECT_EQ(rules(check_pragma_once({"a/a.h", "// #pragma once\nint x;\n"})), Rules{"pragma-once"});
  EXPECT_TRUE(clean(check_pragma_once({"a/a.h", "#pragma once\n"})));
}

TEST(TidyText, ACoreThatReadsAClockOrRollsDiceIsReported) {
  const std::string text =
      "#include <thread>\nauto t = std::chrono::steady_clock::now();\nint r = "
      "rand();\nstd::random_device d;\n";
  EXPECT_EQ(check_core_purity({"server/core/a.cpp", text}).size(), 4U);
  EXPECT_EQ(check_core_purity({"worker/core/a.cpp", "#include <mutex>\n"}).size(), 1U);
  EXPECT_TRUE(clean(check_core_purity({"server/app/a.cpp", text})));
  EXPECT_TRUE(clean(check_core_purity({"server/core/a.cpp", "int strand(int x);  // rand()\n"})));
}

TEST(TidyText, AClockThatPeopleSetIsReadInNamedPlacesOnly) {
  const std::string text = "auto a = std::chrono::system_clock::now();\nauto b = net::wall_microseconds();\n";
  EXPECT_EQ(rules(check_wall_clock({"server/core/a.cpp", text})), (Rules{"wall-clock", "wall-clock"}));
  EXPECT_TRUE(clean(check_wall_clock({"server/app/boot.cpp", text})));
  EXPECT_TRUE(clean(check_wall_clock({"tests/unit/net/a_test.cpp", text})));
  EXPECT_TRUE(clean(check_wall_clock({"server/core/a.cpp", "steady_clock::now();  // system_clock::now()\n"})));
}

// --- coroutines ----------------------------------------------------------------------------------

TEST(TidyCoroutines, BracesInTheExpressionOfACoAwaitAreReported) {
  const Rules braces = {"coroutine-braces"};
  EXPECT_EQ(rules(coroutines_in("X f() {\n  co_await push({.name = a});\n}")), braces);
  EXPECT_EQ(rules(coroutines_in("X f() {\n  co_await push(\n      Options{a});\n}")), braces);
  EXPECT_EQ(rules(coroutines_in("X f() {\n  auto x = g(Options{a}, co_await h());\n}")), braces);
  EXPECT_EQ(rules(coroutines_in("X f() {\n  g(1, co_await h()).merge({1});\n}")), braces);
  EXPECT_EQ(rules(coroutines_in("X f() {\n  co_return Reply{co_await h()};\n}")), braces);
  EXPECT_EQ(rules(coroutines_in("X f() {\n  if (co_await g(A{1})) {\n    return;\n  }\n}")),
            braces);
  EXPECT_EQ(rules(coroutines_in("X f() {\n  co_await each([] { return 1; });\n}")), braces);
}

TEST(TidyCoroutines, BracesBesideACoAwaitAreNoTrap) {
  EXPECT_TRUE(
      clean(coroutines_in("X f() {\n  if (auto r = co_await g(); !r) {\n    co_return;\n  }\n}")));
  EXPECT_TRUE(clean(coroutines_in("X f() {\n  for (auto& x : co_await g()) {\n    h(x);\n  }\n}")));
  EXPECT_TRUE(clean(coroutines_in(
      "X f() {\n  const Options o{1};\n  auto [a, b] = co_await g(o);\n  h({1});\n}")));
  EXPECT_TRUE(clean(
      coroutines_in("X f() {\n  while (true) {\n    co_await g();  // {}\n  }\n  h({1});\n}")));
  EXPECT_TRUE(clean(coroutines_in(
      "X f() {\n  EXPECT_TRUE(co_await g());\n  if (x) co_await h();\n  else {\n k(); }\n}")));
}

TEST(TidyCoroutines, ACapturingLambdaMayNotBeACoroutine) {
  const Rules capture = {"coroutine-capture"};
  EXPECT_EQ(rules(coroutines_in("auto a = [this]() -> net::awaitable<void> { f(); };")), capture);
  EXPECT_EQ(rules(coroutines_in(
                "void f() {\n  run([&](int x) -> Task<int> {\n    co_return x;\n  });\n}")),
            capture);
  EXPECT_TRUE(
      clean(coroutines_in("auto a = [](Server& s) -> awaitable<void> { co_await s.run(); };")));
  EXPECT_TRUE(
      clean(coroutines_in("auto a = [x] { return x; };\nint b = c[x];\n[[nodiscard]] int f();")));
  EXPECT_TRUE(
      clean(coroutines_in("X f() {\n  for (auto& [k, v] : map) {\n    co_await g(k);\n  }\n}")));
}

TEST(TidyCoroutines, AnAwaitInCatchAndADetachedCoroutineAreReported) {
  EXPECT_EQ(
      rules(coroutines_in("X f() {\n  try {\n  } catch (const E& e) {\n    co_await g();\n  }\n}")),
      Rules{"coroutine-catch"});
  EXPECT_TRUE(clean(coroutines_in(
      "X f() {\n  try {\n    co_await g();\n  } catch (const E& e) {\n    h();\n  }\n}")));
  EXPECT_EQ(rules(coroutines_in("void f() {\n  co_spawn(executor, run(), asio::detached);\n}")),
            Rules{"coroutine-detached"});
  EXPECT_TRUE(clean(coroutines_in("void f() {\n  // never detached\n  undetached();\n}")));
}

// --- ledger --------------------------------------------------------------------------------------

SourceFile ledger_of(const std::string& rows) {
  return {std::string(kLedgerPath),
          "# x\n## Codes\n\n| number | name | why |\n| --- | --- | --- |\n" + rows + "\n## Next\n"};
}

TEST(TidyLedger, ANumberOrNameGivenTwiceIsReported) {
  const auto twice =
      check_ledger_table(ledger_of("| 1 | a | |\n| 0x1 | b | |\n| 2 | a | |\n"), "Codes");
  EXPECT_EQ(rules(twice), (Rules{"ledger", "ledger"}));
  EXPECT_TRUE(clean(check_ledger_table(ledger_of("| 1 | a | |\n| 2 | `b` | |\n"), "Codes")));
  EXPECT_EQ(rules(check_ledger_table(ledger_of(""), "No such section")), Rules{"ledger"});
}

TEST(TidyLedger, CodeAndLedgerMustAgreeBothWays) {
  const SourceFile header(
      "a.h",
      "enum class E : int {\n  kWrongEpoch = 1,  // kNot = 9\n  kIo = 0x02, kSame = 3\n};\n");
  const std::string rows = "| 1 | wrong-epoch | |\n| 2 | io | |\n";
  EXPECT_EQ(rules(check_ledger_against(ledger_of(rows), "Codes", header)), Rules{"ledger"});
  EXPECT_TRUE(clean(check_ledger_against(ledger_of(rows + "| 3 | same | |\n"), "Codes", header)));
  EXPECT_EQ(rules(check_ledger_against(ledger_of(rows + "| 4 | same | |\n"), "Codes", header)),
            Rules{"ledger"});
  EXPECT_EQ(rules(check_ledger_against(ledger_of(rows + "| 3 | same | |\n| 7 | gone | |\n"),
                                       "Codes", header)),
            Rules{"ledger"});
  EXPECT_TRUE(clean(check_ledger_against(
      ledger_of(rows + "| 3 | same | |\n| 7 | gone | reserved |\n"), "Codes", header)));
}

// --- the real tree -------------------------------------------------------------------------------

class TidyTree : public testing::Test {
 protected:
  static const std::vector<SourceFile>& files() {
    static const std::vector<SourceFile> tree = read_tree(GODWIT_SOURCE_DIR);
    return tree;
  }

  static const SourceFile* file(std::string_view path) {
    const auto found = std::find_if(files().begin(), files().end(),
                                    [&](const SourceFile& each) { return each.path == path; });
    return found == files().end() ? nullptr : &*found;
  }

  static std::string report_of(Violations (*checker)(const SourceFile&)) {
    std::string text;
    for (const auto& each : files()) text += report(checker(each));
    return text;
  }
};

TEST_F(TidyTree, IsFound) {
  ASSERT_NE(file("tests/tidy/tidy_test.cpp"), nullptr) << "no source tree at " << GODWIT_SOURCE_DIR;
  EXPECT_NE(file("shared/base/errc.h"), nullptr);
}

TEST_F(TidyTree, ArrowsOnlyGoDown) { EXPECT_TRUE(clean(check_includes(files(), include_table()))); }
TEST_F(TidyTree, NoFileIncludesItself) { EXPECT_TRUE(clean(check_include_cycles(files()))); }
TEST_F(TidyTree, IsSmallEnoughToSee) { EXPECT_TRUE(clean(report_of(check_lengths))); }
TEST_F(TidyTree, EveryLibraryHasAShortReadme) { EXPECT_TRUE(clean(check_readmes(files()))); }
TEST_F(TidyTree, NamesSayWhatThingsAreAbout) { EXPECT_TRUE(clean(report_of(check_name))); }
TEST_F(TidyTree, NothingIsLeftOver) { EXPECT_TRUE(clean(report_of(check_leftovers))); }
TEST_F(TidyTree, EveryHeaderIsReadOnce) { EXPECT_TRUE(clean(report_of(check_pragma_once))); }
TEST_F(TidyTree, CoresReadNoClockAndRollNoDice) {
  EXPECT_TRUE(clean(report_of(check_core_purity)));
}
TEST_F(TidyTree, NoDecisionHangsOnAClockThatPeopleSet) { EXPECT_TRUE(clean(report_of(check_wall_clock))); }
TEST_F(TidyTree, CoroutinesAvoidTheTraps) { EXPECT_TRUE(clean(report_of(check_coroutines))); }

TEST_F(TidyTree, TheLedgerAgreesWithTheCode) {
  const SourceFile* ledger = file(kLedgerPath);
  ASSERT_NE(ledger, nullptr) << kLedgerPath << " is missing";
  const std::vector<std::pair<std::string, std::string>> tables = {
      {"Error codes", "shared/base/errc.h"},
      {"Codec ids", "shared/codec/codec_ids.h"},
      {"Message kinds", "shared/protocol/message_kind.h"},
  };
  for (const auto& [section, path] : tables) {
    EXPECT_TRUE(clean(check_ledger_table(*ledger, section)));
    const SourceFile* header = file(path);
    ASSERT_NE(header, nullptr) << path << " is missing: give the table '" << section
                               << "' its new home here";
    EXPECT_TRUE(clean(check_ledger_against(*ledger, section, *header)));
  }
}

}  // namespace
}  // namespace godwit::tidy
