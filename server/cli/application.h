// The whole of `godwit` but for its process: arguments in, text and exit code out.
#pragma once

#include <string>
#include <vector>

#include "server/cli/console.h"

namespace godwit::cli {

// Without the program's name.
int run(const std::vector<std::string>& arguments, const Console& console);

}  // namespace godwit::cli
