// Problem: an error as people meet it: a code GODWIT-Ennnn that stays the same in the CLI, over
// HTTP, in metrics and in documentation; what causes it, what to do, the CLI's exit code and the
// HTTP status.
//   E1 connect, authenticate   E2 configuration, usage   E3 shard, region   E4 run   E5 wire, codec
//   E6 storage                 E9 a bug
// Codes are never reused.
#pragma once

#include <span>
#include <string>
#include <string_view>

#include "shared/base/errc.h"

namespace godwit {

struct Problem {
  std::string_view code;  // "GODWIT-E1001"
  std::string_view title;
  std::string_view cause;
  std::string_view fix;
  int http_status = 500;
  int exit_code = 1;
  bool retryable = false;
};

std::span<const Problem> problem_catalogue();
const Problem& problem_of(Errc code);
// "GODWIT-E1001", "E1001" or "1001", in any case; nullptr when there is none.
const Problem* find_problem(std::string_view code);

}  // namespace godwit
