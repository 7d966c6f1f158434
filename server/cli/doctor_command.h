// `godwit doctor`: why can a server not be reached? Looks at this machine's files, certificate,
// disk and limits, then at every server's ports, as the server of this machine would.
#pragma once

#include "server/cli/command_line.h"
#include "server/cli/console.h"

namespace godwit::cli {

// 0: nothing is wrong, 1: something is.
int run_doctor(const CommandLine& line, const Console& console);

}  // namespace godwit::cli
