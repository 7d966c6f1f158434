#include "tests/tidy/coroutine_checks.h"

#include <algorithm>
#include <array>
#include <cctype>
#include <string>
#include <string_view>
#include <vector>

namespace godwit::tidy {
namespace {

using std::string_view;
constexpr std::size_t kNone = string_view::npos;

std::size_t next_visible(string_view code, std::size_t at) {
  while (at < code.size() && std::isspace(static_cast<unsigned char>(code[at])) != 0) ++at;
  return at;
}

// The last character before `at` that is not a blank; kNone when there is none.
std::size_t previous_visible(string_view code, std::size_t at) {
  while (at > 0) {
    if (std::isspace(static_cast<unsigned char>(code[--at])) == 0) return at;
  }
  return kNone;
}

string_view word_ending_at(string_view code, std::size_t last) {
  std::size_t first = last + 1;
  while (first > 0 && is_word_character(code[first - 1])) --first;
  return code.substr(first, last + 1 - first);
}

// Offsets of the brackets that are open at `at`, outermost first.
std::vector<std::size_t> open_brackets(string_view code, std::size_t at) {
  std::vector<std::size_t> open;
  for (std::size_t i = 0; i < at; ++i) {
    if (code[i] == '(' || code[i] == '{' || code[i] == '[') open.push_back(i);
    if ((code[i] == ')' || code[i] == '}' || code[i] == ']') && !open.empty()) open.pop_back();
  }
  return open;
}

// A block holds statements, at any depth; braces that hold none build a value.
bool is_block(string_view code, std::size_t open) {
  const std::size_t close = std::min(closing_bracket(code, open), code.size());
  for (std::size_t i = open + 1; i < close; ++i) {
    if (code[i] == ';') return true;
    if (code[i] == '(' || code[i] == '[') i = std::min(closing_bracket(code, i), close);
  }
  return false;
}

// if (...), while (...): the block after it is no part of the expression.
bool is_control(string_view code, std::size_t paren) {
  static constexpr std::array kWords = {"if", "while", "for", "switch", "constexpr"};
  const std::size_t last = previous_visible(code, paren);
  if (last == kNone) return false;
  return std::find(kWords.begin(), kWords.end(), word_ending_at(code, last)) != kWords.end();
}

// First ';' at or after `at` outside brackets opened after it, or the bracket that closes around
// it.
std::size_t statement_end(string_view code, std::size_t at) {
  for (std::size_t i = at; i < code.size(); ++i) {
    if (code[i] == ';' || code[i] == ')' || code[i] == '}') return i;
    if (code[i] == '(' || code[i] == '{' || code[i] == '[') {
      const std::size_t close = closing_bracket(code, i);
      if (close == kNone) return code.size();
      i = close;
    }
  }
  return code.size();
}

// Does the full expression that holds the co_await at `at` also hold braces?
bool has_braces_around(string_view code, std::size_t at) {
  const auto open = open_brackets(code, at);
  const auto brace =
      std::find_if(open.rbegin(), open.rend(), [&](std::size_t i) { return code[i] == '{'; });
  if (brace == open.rend()) return false;  // not inside a function: half a snippet
  if (!is_block(code, *brace)) return true;
  std::size_t first = at;
  std::size_t last = statement_end(code, at);
  if (brace != open.rbegin()) {  // inside parentheses: the outermost ones bound the expression
    first = *(brace - 1);
    last = std::min(closing_bracket(code, first), code.size());
    if (!is_control(code, first)) last = statement_end(code, last + 1);
  }
  return code.substr(first, last - first).find('{') != kNone;
}

struct Lambda {
  std::size_t start;
  bool captures;
  std::size_t body_open;
  std::size_t body_close;
};

// An attribute, a subscript or a structured binding is no lambda.
bool may_start_lambda(string_view code, std::size_t at) {
  if (code.substr(at, 2) == "[[" || (at > 0 && code[at - 1] == '[')) return false;
  const std::size_t last = previous_visible(code, at);
  if (last == kNone) return true;
  if (code[last] == ')' || code[last] == ']') return false;
  if (!is_word_character(code[last]))
    return code.substr(last > 4 ? last - 4 : 0, 5).find("auto&") == kNone;
  const string_view word = word_ending_at(code, last);
  return word == "return" || word == "co_return" || word == "co_await" || word == "co_yield";
}

std::vector<Lambda> find_lambdas(string_view code) {
  std::vector<Lambda> lambdas;
  for (std::size_t at = code.find('['); at != kNone; at = code.find('[', at + 1)) {
    if (!may_start_lambda(code, at)) continue;
    const std::size_t close = closing_bracket(code, at);
    if (close == kNone) continue;
    std::size_t next = next_visible(code, close + 1);
    if (next < code.size() && code[next] == '(')
      next = next_visible(code, closing_bracket(code, next) + 1);
    // mutable, noexcept, -> std::vector<int>
    const std::size_t open = code.find_first_of("{;),=", next);
    if (open == kNone || code[open] != '{') continue;
    const std::size_t body_close = closing_bracket(code, open);
    if (body_close == kNone) continue;
    lambdas.push_back({at, next_visible(code, at + 1) != close, open, body_close});
  }
  return lambdas;
}

bool contains_coroutine_word(string_view code) {
  return find_word(code, "co_await") != kNone || find_word(code, "co_return") != kNone ||
         find_word(code, "co_yield") != kNone;
}

// The text of a body without the bodies of the lambdas inside it.
std::string own_text(string_view code, std::size_t open, std::size_t close,
                     const std::vector<Lambda>& lambdas) {
  std::string text(code.substr(open, close - open));
  for (const Lambda& inner : lambdas) {
    if (inner.start <= open || inner.body_close >= close) continue;
    for (std::size_t i = inner.body_open; i <= inner.body_close; ++i) text[i - open] = ' ';
  }
  return text;
}

class CoroutineChecker {
 public:
  explicit CoroutineChecker(const SourceFile& file)
      : file_(file), code_(file.code), lambdas_(find_lambdas(code_)) {}

  Violations check() {
    check_detached();
    check_awaits();
    check_lambdas();
    check_catches();
    return violations_;
  }

 private:
  void report(std::size_t at, std::string rule, std::string fix) {
    violations_.push_back({file_.path, file_.line_of(at), std::move(rule), std::move(fix)});
  }

  template <class Action>
  void for_each_word(string_view word, Action action) {
    for (std::size_t at = find_word(code_, word); at != kNone; at = find_word(code_, word, at + 1))
      action(at);
  }

  void check_detached() {
    for_each_word("detached", [this](std::size_t at) {
      report(at, "coroutine-detached",
             "spawn it in a TaskGroup, which cancels it and waits for it");
    });
  }

  void check_awaits() {
    for_each_word("co_await", [this](std::size_t at) {
      if (!has_braces_around(code_, at)) return;
      report(at, "coroutine-braces",
             "braces or a lambda in one expression with co_await: name the value first");
    });
  }

  void check_lambdas() {
    for (const Lambda& lambda : lambdas_) {
      const string_view head = code_.substr(lambda.start, lambda.body_open - lambda.start);
      const bool coroutine =
          head.find("awaitable") != kNone ||
          contains_coroutine_word(own_text(code_, lambda.body_open, lambda.body_close, lambdas_));
      if (!lambda.captures || !coroutine) continue;
      report(lambda.start, "coroutine-capture",
             "captures die with the lambda, before its coroutine resumes: make it a member, or "
             "pass parameters");
    }
  }

  void check_catches() {
    for_each_word("catch", [this](std::size_t at) {
      const std::size_t open = code_.find('{', at);
      const std::size_t close = open == kNone ? kNone : closing_bracket(code_, open);
      if (close == kNone) return;
      if (find_word(own_text(code_, open, close, lambdas_), "co_await") == kNone) return;
      report(at, "coroutine-catch",
             "co_await is ill-formed in catch: keep the error and await after the block");
    });
  }

  const SourceFile& file_;
  const string_view code_;
  const std::vector<Lambda> lambdas_;
  Violations violations_;
};

}  // namespace

Violations check_coroutines(const SourceFile& file) {
  if (!file.is_cpp()) return {};
  return CoroutineChecker(file).check();
}

}  // namespace godwit::tidy
