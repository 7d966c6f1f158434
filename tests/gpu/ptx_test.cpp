// How device code rounds can be read in it, without a device: nothing fused, flushed or approximate.
#include <gtest/gtest.h>

#include <fstream>
#include <map>
#include <set>
#include <sstream>
#include <string>

namespace godwit {
namespace {

// The floating-point instructions of the device code, such as "add.rn.f32", each with one line.
std::map<std::string, std::string> float_instructions() {
  std::map<std::string, std::string> found;
  std::istringstream paths(GODWIT_PTX_FILES);
  for (std::string path; std::getline(paths, path, ':');) {
    std::ifstream file(path);
    EXPECT_TRUE(file) << path << " was built with this program: where is it?";
    for (std::string line; std::getline(file, line);) {
      std::istringstream words(line);
      std::string word;
      while (words >> word && word.starts_with('@')) {
      }  // a predicate
      if (word.starts_with('.') || word.find(".f") == std::string::npos) continue;
      found.emplace(word, line);
    }
  }
  return found;
}

TEST(Ptx, EveryFloatOperationIsOneThatRoundsOnItsOwn) {
  const std::set<std::string> kRoundedOnce = {"add.rn.f32", "sub.rn.f32", "mul.rn.f32", "div.rn.f32"};
  // Moves, comparisons, selections and conversions of small integers: exact.
  const std::set<std::string> kExact = {"ld", "st", "mov", "setp", "selp", "cvt"};
  std::set<std::string> rounded;
  for (const auto& [word, line] : float_instructions()) {
    if (kRoundedOnce.contains(word)) rounded.insert(word);
    const bool exact = kExact.contains(word.substr(0, word.find('.'))) && word.find("ftz") == std::string::npos;
    EXPECT_TRUE(exact || kRoundedOnce.contains(word)) << line;
  }
  EXPECT_EQ(rounded, kRoundedOnce) << "the kernels use each of them: was the right text read?";
}

}  // namespace
}  // namespace godwit
