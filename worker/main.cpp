#include <variant>

#include "worker/app/commands.h"

int main(int argc, char** argv) {
  const godwit::app::Command command = godwit::app::parse_command_line(argc, argv);
  return std::visit([](const auto& chosen) { return godwit::app::run(chosen); }, command);
}
