// Small enough to see: lengths of files, functions, lines and READMEs.
#pragma once

#include <string>
#include <vector>

#include "tests/tidy/source_tree.h"

namespace godwit::tidy {

inline constexpr std::size_t kFileLinesMax = 600;
inline constexpr std::size_t kFunctionLinesMax = 70;
inline constexpr std::size_t kMainLinesMax = 100;
inline constexpr std::size_t kLineCharactersMax = 120;
inline constexpr std::size_t kReadmeLinesMax = 25;

struct FunctionExtent {
  std::size_t first_line;  // of the signature
  std::size_t line_count;  // through the closing brace
};

// Functions defined at namespace or class level, found by matching brackets (macros that look like
// functions, such as TEST, count as such). Lambdas and local types belong to the function around
// them.
std::vector<FunctionExtent> find_functions(const SourceFile& file);

Violations check_lengths(const SourceFile& file);
// Every folder whose sources make it a library has a README, short enough to be read.
Violations check_readmes(const std::vector<SourceFile>& files);

}  // namespace godwit::tidy
