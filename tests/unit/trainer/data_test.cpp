#include "worker/trainer/data.h"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <algorithm>
#include <fstream>
#include <set>

namespace godwit::trainer {
namespace {

RC_GTEST_PROP(Slices, AreEqualDisjointAndNeverHeldOut, ()) {
  const std::uint64_t bytes = *rc::gen::inRange<std::uint64_t>(0, 100'000);
  const std::uint64_t regions = *rc::gen::inRange<std::uint64_t>(1, 20);
  const TextRange heldout = heldout_range(bytes);
  RC_ASSERT(heldout.end == bytes);
  RC_ASSERT(heldout.size() == bytes / 20);
  RC_ASSERT(training_range(bytes).end == heldout.begin);
  std::uint64_t previous_end = 0;
  for (std::uint64_t i = 0; i < regions; ++i) {
    const TextRange slice = region_range(bytes, i, regions);
    RC_ASSERT(slice.begin == previous_end);
    RC_ASSERT(slice.size() == region_range(bytes, 0, regions).size());
    RC_ASSERT(slice.end <= heldout.begin);
    previous_end = slice.end;
  }
  RC_ASSERT(heldout.begin - previous_end < regions);
}

class CorpusTest : public testing::Test {
 protected:
  CorpusTest()
      : folder_(testing::TempDir() + "corpus_" +
                testing::UnitTest::GetInstance()->current_test_info()->name()) {
    std::filesystem::remove_all(folder_);
    std::filesystem::create_directories(folder_ + "/b");
  }
  ~CorpusTest() override { std::filesystem::remove_all(folder_); }
  void write(const std::string& name, const std::string& text) {
    std::ofstream(folder_ + "/" + name) << text;
  }
  static std::string read(const Corpus& corpus, TextRange range) {
    const Text text = *corpus.read(range);
    return {text.begin(), text.end()};
  }
  std::string folder_;
};

TEST_F(CorpusTest, FilesOfAFolderFollowOneAnotherByPath) {
  write("c", "789");
  write("b/x", "456");
  write("a", "123");
  const Corpus corpus = *Corpus::open(folder_);
  EXPECT_EQ(corpus.size(), 9U);
  EXPECT_EQ(read(corpus, {0, 9}), "123456789");
  EXPECT_EQ(read(corpus, {2, 7}), "34567");
  EXPECT_EQ(read(corpus, {4, 5}), "5");
  EXPECT_EQ(read(*Corpus::open(folder_ + "/c"), {1, 3}), "89");
}

TEST_F(CorpusTest, SaysWhatIsWrong) {
  EXPECT_EQ(Corpus::open(folder_).error().code, Errc::kConfig);
  EXPECT_NE(Corpus::open("/nowhere").error().context.find("/nowhere"), std::string::npos);
  write("a", "123");
  const Corpus corpus = *Corpus::open(folder_);
  write("a", "1");
  EXPECT_EQ(corpus.read({0, 3}).error().code, Errc::kIo);
}

TEST(Windows, ComeFromEverywhereInTheTextAndRepeatWithTheSeed) {
  const std::vector<std::uint8_t> text{1, 2, 3, 4, 5};
  std::vector<std::uint8_t> windows(3 * 100);
  Random random(1);
  draw_windows(windows, 3, text, random);
  std::set<std::uint8_t> firsts;
  for (std::size_t at = 0; at < windows.size(); at += 3) {
    firsts.insert(windows[at]);
    ASSERT_EQ(windows[at + 1], windows[at] + 1);
    ASSERT_EQ(windows[at + 2], windows[at] + 2);
  }
  EXPECT_EQ(firsts, (std::set<std::uint8_t>{1, 2, 3}));
  std::vector<std::uint8_t> again(windows.size());
  Random same(1);
  draw_windows(again, 3, text, same);
  EXPECT_EQ(again, windows);
}

}  // namespace
}  // namespace godwit::trainer
