// godwit: the operator's program.
#include <signal.h>

#include <exception>
#include <iostream>

#include "server/cli/application.h"
#include "server/cli/exit_code.h"

int main(int count, char** arguments) {
  ::signal(SIGPIPE, SIG_IGN);  // `godwit status | head` ends by a failed write, not by a signal
  const godwit::cli::Console console{std::cout, std::cerr};
  try {
    return godwit::cli::run({arguments + 1, arguments + count}, console);
  } catch (const std::exception& bug) {
    std::cerr << "error: GODWIT-E9001 internal error: " << bug.what() << "\n";
    return godwit::cli::exit_code::kBug;
  }
}
