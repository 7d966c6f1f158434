// history_check: judges the histories that workers recorded. Exit codes: 0 right, 1 violations, 2 cannot be judged.
#include <cstdio>
#include <string>

#include "tests/history/checker.h"

int main(int count, char** arguments) {
  using namespace godwit::history;
  bool json = false, usage = count < 2;
  Recording recording;
  for (int i = 1; i < count; ++i) {
    const std::string argument = arguments[i];
    if (argument == "--json") {
      json = true;
    } else if (argument.starts_with("-")) {
      usage = true;
    } else if (const std::string wrong = recording.add_file(argument); !wrong.empty()) {
      return std::fprintf(stderr, "history_check: %s\n", wrong.c_str()), 2;
    }
  }
  if (usage || recording.files() == 0) {
    std::fputs("usage: history_check [--json] FILE...\n"
               "FILE is what a worker recorded; several files of one worker come in the order of its processes.\n",
               stderr);
    return 2;
  }
  const Report report = check(recording);
  for (const Violation& violation : report.violations) std::fprintf(stderr, "%s\n", to_string(violation).c_str());
  std::puts(json ? report_json(report).c_str() : summary(report).c_str());
  return report.violations.empty() ? 0 : 1;
}
