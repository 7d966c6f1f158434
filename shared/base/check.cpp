#include "shared/base/check.h"

#include <cstdio>
#include <cstdlib>

namespace godwit::base {

void check_failed(const char* kind, const char* file, int line, const char* fact,
                  std::string_view why) {
  std::fprintf(stderr, "godwit bug: %s failed at %s:%d: %s: %.*s\n", kind, file, line, fact,
               static_cast<int>(why.size()), why.data());
  std::fflush(stderr);
  std::abort();
}

}  // namespace godwit::base
