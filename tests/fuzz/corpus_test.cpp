// Every file of the corpus, and every seed, through its target once: what fuzzing found stays found,
// with any compiler.
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <iostream>
#include <iterator>

#include "tests/fuzz/seeds.h"
#include "tests/fuzz/targets.h"

namespace godwit::fuzz {
namespace {

namespace fs = std::filesystem;
const fs::path kCorpus = fs::path(GODWIT_SOURCE_DIR) / "tests/fuzz/corpus";

Bytes read_file(const fs::path& path) {
  std::ifstream in(path, std::ios::binary);
  const std::string bytes{std::istreambuf_iterator<char>(in), {}};
  return copy(view(bytes));
}

std::vector<fs::path> files_of(std::string_view target) {
  std::vector<fs::path> files;
  for (const auto& entry : fs::directory_iterator(kCorpus / target)) files.push_back(entry.path());
  std::sort(files.begin(), files.end());
  return files;
}

class Corpus : public testing::TestWithParam<Target> {};

TEST_P(Corpus, EveryFileIsHandled) {
  const std::vector<fs::path> files = files_of(GetParam().name);
  EXPECT_FALSE(files.empty()) << "write the seeds with bin/fuzz_corpus tests/fuzz/corpus";
  for (const fs::path& file : files) {
    std::cout << GetParam().name << "/" << file.filename().string() << std::endl;  // before it aborts
    GetParam().run(read_file(file));
  }
}

TEST_P(Corpus, EverySeedIsAGoodInput) {
  const std::vector<Seed> seeds = seeds_of(GetParam().name);
  EXPECT_FALSE(seeds.empty());
  for (const Seed& seed : seeds) EXPECT_TRUE(GetParam().run(seed.bytes)) << seed.name;
}

INSTANTIATE_TEST_SUITE_P(Fuzz, Corpus,
                         testing::ValuesIn(all_targets().begin(), all_targets().end()),
                         [](const auto& info) { return std::string(info.param.name); });

TEST(FuzzCorpus, EveryFolderIsThatOfATarget) {
  for (const auto& entry : fs::directory_iterator(kCorpus)) {
    const std::string name = entry.path().filename().string();
    EXPECT_NE(std::ranges::find(all_targets(), name, &Target::name), all_targets().end()) << name;
  }
}

}  // namespace
}  // namespace godwit::fuzz
