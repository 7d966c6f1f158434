#include "tests/tidy/size_checks.h"

#include <algorithm>
#include <cctype>
#include <map>
#include <set>
#include <string_view>

namespace godwit::tidy {
namespace {

using std::string_view;

// Preprocessor lines may hold half a bracket: blank them, with the lines they continue on.
std::string blank_directives(std::string code) {
  bool inside = false;
  for (std::size_t start = 0; start < code.size();) {
    const std::size_t end = std::min(code.find('\n', start), code.size());
    const std::size_t first = code.find_first_not_of(" \t", start);
    inside = inside || (first < end && code[first] == '#');
    const bool continues = end > start && code[end - 1] == '\\';
    if (inside)
      std::fill(code.begin() + static_cast<std::ptrdiff_t>(start),
                code.begin() + static_cast<std::ptrdiff_t>(end), ' ');
    inside = inside && continues;
    start = end + 1;
  }
  return code;
}

std::size_t skip_blanks(string_view code, std::size_t at) {
  while (at < code.size() && std::isspace(static_cast<unsigned char>(code[at])) != 0) ++at;
  return at;
}

// Offset after `template <...>` where `head` starts with it.
std::size_t skip_template(string_view head, std::size_t at) {
  while (head.substr(at).starts_with("template")) {
    std::size_t depth = 0;
    std::size_t i = head.find('<', at);
    for (; i < head.size(); ++i) {
      if (head[i] == '<') ++depth;
      if (head[i] == '>' && --depth == 0) break;
    }
    at = skip_blanks(head, std::min(i + 1, head.size()));
  }
  return at;
}

enum class Opens { kScope, kFunction, kData };

// What the brace after `head` (all text since the last statement) opens at namespace or class
// level.
Opens classify(string_view head) {
  const std::size_t start = skip_template(head, skip_blanks(head, 0));
  const string_view body = head.substr(start);
  for (const string_view word :
       {"namespace", "class", "struct", "union", "enum", "extern", "inline namespace"}) {
    if (body.starts_with(word) && (word != "extern" || body.find('(') == string_view::npos))
      return Opens::kScope;
  }
  const std::size_t paren = body.find('(');
  if (paren == string_view::npos) return Opens::kData;
  const bool unclosed =
      std::count(body.begin(), body.end(), '(') > std::count(body.begin(), body.end(), ')');
  if (unclosed) return Opens::kData;  // a default argument such as `Options options = {}`
  const bool assigned = body.substr(0, paren).find('=') != string_view::npos;
  const bool is_operator = find_word(body.substr(0, paren), "operator") != string_view::npos;
  const bool is_lambda = body.find('[') < paren;
  return assigned && !is_operator && !is_lambda ? Opens::kData : Opens::kFunction;
}

// Walks one scope after the other without recursion: entering a scope means going on inside it.
class FunctionFinder {
 public:
  explicit FunctionFinder(const SourceFile& file)
      : file_(file), code_(blank_directives(file.code)) {}

  std::vector<FunctionExtent> find() {
    while (at_ < code_.size()) {
      const char c = code_[at_];
      if (c == '{') {
        open_brace();
      } else if (c == ';' || c == '}' || ends_access_specifier()) {
        head_ = ++at_;
      } else {
        ++at_;
      }
    }
    return functions_;
  }

 private:
  bool ends_access_specifier() const {
    if (code_[at_] != ':') return false;
    const string_view head = string_view(code_).substr(head_, at_ - head_);
    return head.ends_with("public") || head.ends_with("private") || head.ends_with("protected");
  }

  void open_brace() {
    const Opens opens = classify(string_view(code_).substr(head_, at_ - head_));
    const std::size_t close = closing_bracket(code_, at_);
    if (opens == Opens::kScope || close == std::string::npos) {
      head_ = ++at_;
      return;
    }
    const std::size_t next = skip_blanks(code_, close + 1);
    // `: size_{size} {` and `: a_{a}, b_(b) {`: members set up before the body opens
    const bool initialises_member =
        next < code_.size() && (code_[next] == ',' || code_[next] == '{');
    at_ = close + 1;
    if (opens == Opens::kData || initialises_member) return;
    const std::size_t first = file_.line_of(skip_blanks(code_, head_));
    functions_.push_back({first, file_.line_of(close) - first + 1});
    head_ = at_;
  }

  const SourceFile& file_;
  const std::string code_;
  std::size_t at_ = 0;
  std::size_t head_ = 0;  // where the current declaration starts
  std::vector<FunctionExtent> functions_;
};

// A tab counts as one, a UTF-8 character too.
std::size_t character_count(string_view line) {
  return static_cast<std::size_t>(std::count_if(line.begin(), line.end(), [](char c) {
    return (static_cast<unsigned char>(c) & 0xC0U) != 0x80U;
  }));
}

std::string number(std::size_t value) { return std::to_string(value); }

bool makes_a_library(const SourceFile& file) {
  return file.is_cpp() || file.extension() == ".capnp";
}

// tests/unit mirrors the source tree: one README explains all of it.
std::string library_folder(const SourceFile& file) {
  return file.path.starts_with("tests/unit/") ? "tests/unit" : file.folder();
}

}  // namespace

std::vector<FunctionExtent> find_functions(const SourceFile& file) {
  return FunctionFinder(file).find();
}

Violations check_lengths(const SourceFile& file) {
  if (file.extension() == ".md" || file.extension() == ".json" || file.name() == "LICENSE")
    return {};
  Violations violations;
  const auto lines = split_lines(file.text);
  for (std::size_t i = 0; i < lines.size(); ++i) {
    const std::size_t width = character_count(lines[i]);
    if (width <= kLineCharactersMax) continue;
    violations.push_back(
        {file.path, i + 1, "line-width",
         number(width) + " characters; break it at " + number(kLineCharactersMax) + " or before"});
  }
  const std::size_t limit = file.name() == "main.cpp" ? kMainLinesMax : kFileLinesMax;
  if (lines.size() > limit) {
    violations.push_back(
        {file.path, 0, "file-length",
         number(lines.size()) + " lines, at most " + number(limit) +
             (limit == kMainLinesMax ? "; main names the parts and runs them, the rest goes to app"
                                     : "; split it by conversation")});
  }
  if (!file.is_cpp()) return violations;
  for (const auto& function : find_functions(file)) {
    if (function.line_count <= kFunctionLinesMax) continue;
    violations.push_back({file.path, function.first_line, "function-length",
                          number(function.line_count) + " lines, at most " +
                              number(kFunctionLinesMax) +
                              "; keep the branches here and move the leaves into functions"});
  }
  return violations;
}

Violations check_readmes(const std::vector<SourceFile>& files) {
  std::set<std::string> folders;
  std::map<std::string, std::size_t> readme_lines;
  for (const auto& file : files) {
    if (makes_a_library(file)) folders.insert(library_folder(file));
    if (file.name() == "README.md") readme_lines[file.folder()] = split_lines(file.text).size();
  }
  Violations violations;
  // Not leaves: these hold main.cpp only.
  for (const char* top : {"server", "worker"}) folders.erase(top);
  for (const auto& folder : folders) {
    if (readme_lines.contains(folder)) continue;
    violations.push_back(
        {folder, 0, "readme", "no README.md: say purpose, main types, invariants, how to add one"});
  }
  // The map, the test plan, the record of numbers, and the ledger, which grows with what it lists.
  for (const char* longer : {"", "tests", "bench", "schema"}) readme_lines.erase(longer);
  for (const auto& [folder, count] : readme_lines) {
    if (count <= kReadmeLinesMax) continue;
    violations.push_back({folder + "/README.md", 0, "readme",
                          number(count) + " lines, at most " + number(kReadmeLinesMax) +
                              "; say less, or say it in a header"});
  }
  return violations;
}

}  // namespace godwit::tidy
