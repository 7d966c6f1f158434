#include "server/cli/console.h"

namespace godwit::cli {

Failure::Failure(const Error& error, std::string fix)
    : problem(&problem_of(error.code)), detail(error.context), fix(std::move(fix)) {}

Failure::Failure(std::string_view code, std::string detail, std::string fix)
    : problem(find_problem(code)), detail(std::move(detail)), fix(std::move(fix)) {
  GODWIT_REQUIRE(problem != nullptr, "the code is in the catalogue");
}

int report(const Console& console, const Failure& failure) {
  const Problem& problem = *failure.problem;
  const std::string short_code(problem.code.substr(problem.code.rfind('E')));
  console.error << "error: " << problem.code << " " << problem.title << ": " << failure.detail
                << "\n  fix: " << (failure.fix.empty() ? std::string(problem.fix) : failure.fix)
                << "   |   why: godwit explain " << short_code << "\n";
  return problem.exit_code;
}

}  // namespace godwit::cli
