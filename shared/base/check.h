// Assertions that stay on in production. One fact a line.
//   GODWIT_REQUIRE  the caller broke the contract of this function
//   GODWIT_CHECK    we broke our own invariant
// Both print file, line, fact and explanation to stderr, then abort: a wrong state must not be acknowledged.
#pragma once

#include <string_view>

namespace godwit::base {
[[noreturn]] void check_failed(const char* kind, const char* file, int line, const char* fact,
                               std::string_view why);
}  // namespace godwit::base

#define GODWIT_REQUIRE(fact, why)                                                       \
  do {                                                                                  \
    if (!(fact)) ::godwit::base::check_failed("REQUIRE", __FILE__, __LINE__, #fact, why); \
  } while (false)
#define GODWIT_CHECK(fact, why)                                                       \
  do {                                                                                \
    if (!(fact)) ::godwit::base::check_failed("CHECK", __FILE__, __LINE__, #fact, why); \
  } while (false)
