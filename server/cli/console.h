// Console: where a command writes: data to `out`, all else to `error`. And how it says that it
// failed.
#pragma once

#include <ostream>
#include <string>

#include "shared/base/problem.h"
#include "shared/base/result.h"

namespace godwit::cli {

struct Console {
  std::ostream& out;
  std::ostream& error;
};

// Why a command failed; gives the exit code. Prints, for example:
//   error: GODWIT-E1001 cannot connect: http://127.0.0.1:7780: connection refused
//     fix: godwit start us-west   |   why: godwit explain E1001
struct Failure {
  const Problem* problem;
  std::string detail;
  std::string fix;  // empty: the problem's

  Failure(const Error& error, std::string fix = "");  // NOLINT: implicit by design
  // REQUIRES: the catalogue has `code`.
  Failure(std::string_view code, std::string detail, std::string fix = "");
};
int report(const Console& console, const Failure& failure);

}  // namespace godwit::cli
