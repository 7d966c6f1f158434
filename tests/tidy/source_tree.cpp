#include "tests/tidy/source_tree.h"

#include <algorithm>
#include <array>
#include <cctype>
#include <fstream>
#include <iterator>
#include <set>
#include <utility>

namespace godwit::tidy {
namespace {

constexpr std::string_view kQuoteMarks = "\"'";

// End (one past) of the raw string literal whose opening quote is at `quote`.
std::size_t raw_string_end(std::string_view text, std::size_t quote) {
  const std::size_t paren = text.find('(', quote);
  if (paren == std::string_view::npos) return text.size();
  const std::string closing = ")" + std::string(text.substr(quote + 1, paren - quote - 1)) + "\"";
  const std::size_t end = text.find(closing, paren);
  return end == std::string_view::npos ? text.size() : end + closing.size();
}

// End (one past) of the string or character literal whose opening quote is at `quote`.
std::size_t literal_end(std::string_view text, std::size_t quote) {
  for (std::size_t i = quote + 1; i < text.size(); ++i) {
    if (text[i] == '\\') {
      ++i;
    } else if (text[i] == text[quote] || text[i] == '\n') {
      return i + 1;
    }
  }
  return text.size();
}

// The ' of 1'000'000 opens nothing.
bool is_digit_separator(std::string_view text, std::size_t at) {
  return text[at] == '\'' && at > 0 && at + 1 < text.size() && std::isxdigit(text[at - 1]) != 0 &&
         std::isxdigit(text[at + 1]) != 0;
}

// End (one past) of the comment or literal that starts at `at`; `at` itself when none does.
std::size_t blank_end(std::string_view text, std::size_t at) {
  if (text.substr(at, 2) == "//") return std::min(text.find('\n', at), text.size());
  if (text.substr(at, 2) == "/*") {
    const std::size_t end = text.find("*/", at + 2);
    return end == std::string_view::npos ? text.size() : end + 2;
  }
  if (kQuoteMarks.find(text[at]) == std::string_view::npos || is_digit_separator(text, at))
    return at;
  const bool raw = text[at] == '"' && at > 0 && text[at - 1] == 'R';
  return raw ? raw_string_end(text, at) : literal_end(text, at);
}

bool is_text(const std::filesystem::path& path) {
  static const std::set<std::string> kExtensions = {".h",    ".cpp",   ".cu",   ".capnp",
                                                    ".sh",   ".md",    ".py",   ".toml",
                                                    ".yaml", ".cmake", ".json", ".txt"};
  return kExtensions.contains(path.extension().string());
}

std::string read_file(const std::filesystem::path& path) {
  std::ifstream stream(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(stream), {}};
}

}  // namespace

std::string Violation::to_string() const {
  return file + (line > 0 ? ":" + std::to_string(line) : "") + ": " + rule + ": " + fix;
}

SourceFile::SourceFile(std::string file_path, std::string file_text)
    : path(std::move(file_path)), text(std::move(file_text)) {
  code = is_cpp() ? blank_comments_and_literals(text) : text;
}

std::string SourceFile::folder() const {
  return std::filesystem::path(path).parent_path().string();
}
std::string SourceFile::name() const { return std::filesystem::path(path).filename().string(); }
std::string SourceFile::extension() const {
  return std::filesystem::path(path).extension().string();
}

bool SourceFile::is_cpp() const {
  const std::string kind = extension();
  return kind == ".h" || kind == ".cpp" || kind == ".cu";
}

std::size_t SourceFile::line_of(std::size_t offset) const {
  const auto end = text.begin() + static_cast<std::ptrdiff_t>(std::min(offset, text.size()));
  return 1 + static_cast<std::size_t>(std::count(text.begin(), end, '\n'));
}

std::vector<SourceFile> read_tree(const std::filesystem::path& root) {
  namespace fs = std::filesystem;
  static constexpr std::array kFolders = {".ci",    "bench",  "docker", "schema",
                                          "server", "shared", "tests",  "worker"};
  std::vector<fs::path> paths;
  for (const auto& entry : fs::directory_iterator(root)) {
    if (entry.is_regular_file() && is_text(entry.path())) paths.push_back(entry.path());
  }
  for (const char* folder : kFolders) {
    if (!fs::exists(root / folder)) continue;
    for (const auto& entry : fs::recursive_directory_iterator(root / folder)) {
      if (entry.is_regular_file() && is_text(entry.path())) paths.push_back(entry.path());
    }
  }
  std::sort(paths.begin(), paths.end());
  std::vector<SourceFile> files;
  for (const auto& path : paths) {
    files.emplace_back(path.lexically_relative(root).generic_string(), read_file(path));
  }
  return files;
}

std::string blank_comments_and_literals(std::string_view text) {
  std::string code(text);
  for (std::size_t i = 0; i < text.size();) {
    const std::size_t end = blank_end(text, i);
    for (std::size_t j = i; j < end; ++j) {
      if (code[j] != '\n') code[j] = ' ';
    }
    i = std::max(end, i + 1);
  }
  return code;
}

std::vector<std::string_view> split_lines(std::string_view text) {
  std::vector<std::string_view> lines;
  while (!text.empty()) {
    const std::size_t end = std::min(text.find('\n'), text.size());
    lines.push_back(text.substr(0, end));
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  return lines;
}

bool is_word_character(char c) {
  return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_';
}

std::size_t find_word(std::string_view text, std::string_view word, std::size_t from) {
  for (std::size_t at = text.find(word, from); at != std::string_view::npos;
       at = text.find(word, at + 1)) {
    const std::size_t end = at + word.size();
    const bool starts =
        at == 0 || !is_word_character(text[at - 1]) || !is_word_character(word.front());
    const bool ends =
        end == text.size() || !is_word_character(text[end]) || !is_word_character(word.back());
    if (starts && ends) return at;
  }
  return std::string_view::npos;
}

std::size_t closing_bracket(std::string_view code, std::size_t open) {
  std::size_t depth = 0;
  for (std::size_t i = open; i < code.size(); ++i) {
    if (code[i] == '(' || code[i] == '{' || code[i] == '[') ++depth;
    if ((code[i] == ')' || code[i] == '}' || code[i] == ']') && --depth == 0) return i;
  }
  return std::string_view::npos;
}

}  // namespace godwit::tidy
