// The project's own files as the checkers see them. Values; read once, then const.
#pragma once

#include <cstddef>
#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

namespace godwit::tidy {

// What a checker reports. `fix` says what to do, not only what is wrong.
struct Violation {
  std::string file;      // path from the repository root
  std::size_t line = 0;  // from 1; 0: the file or folder as a whole
  std::string rule;
  std::string fix;

  std::string to_string() const;  // "server/core/shard.h:12: include-arrow: ..."
};

using Violations = std::vector<Violation>;

struct SourceFile {
  std::string path;  // from the repository root, with '/'
  std::string text;
  std::string
      code;  // `text` with comments and literals blanked; newlines, and so offsets, are kept

  SourceFile(std::string path, std::string text);

  std::string folder() const;     // "server/core"; "" at the root
  std::string name() const;       // "shard.h"
  std::string extension() const;  // ".h"; ".txt" of CMakeLists.txt
  bool is_cpp() const;            // .h .cpp .cu
  std::size_t line_of(std::size_t offset) const;
};

// Every text file under the project's folders and at its root. Build trees are no source.
std::vector<SourceFile> read_tree(const std::filesystem::path& root);

// Same length as `text`: comments, string and character literals become blanks.
std::string blank_comments_and_literals(std::string_view text);

std::vector<std::string_view> split_lines(std::string_view text);
bool is_word_character(char c);
// Offset of `word` standing alone, at or after `from`; npos when there is none.
std::size_t find_word(std::string_view text, std::string_view word, std::size_t from = 0);
// Offset of the bracket that closes the one at `open`; npos when it is never closed.
std::size_t closing_bracket(std::string_view code, std::size_t open);

}  // namespace godwit::tidy
