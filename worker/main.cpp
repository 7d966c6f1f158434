#include <variant>

#include "shared/base/memory.h"
#include "worker/app/commands.h"

int main(int argc, char** argv) {
  godwit::keep_freed_memory();
  const godwit::app::Command command = godwit::app::parse_command_line(argc, argv);
  return std::visit([](const auto& chosen) { return godwit::app::run(chosen); }, command);
}
