#include "server/cli/application.h"

#include <boost/json.hpp>

#include "server/cli/checkpoint_command.h"
#include "server/cli/cluster_commands.h"
#include "server/cli/command_line.h"
#include "server/cli/doctor_command.h"
#include "server/cli/exit_code.h"
#include "server/cli/init.h"
#include "server/cli/model_command.h"
#include "server/cli/promote_command.h"
#include "server/cli/status_command.h"
#include "server/cli/table.h"
#include "server/cli/verify_command.h"

namespace godwit::cli {
namespace {

int run_version(const CommandLine& line, const Console& console) {
  if (line.format == Format::kJson) {
    const boost::json::object all{{"schema", "godwit.version/v1"}, {"version", GODWIT_VERSION}};
    console.out << boost::json::serialize(all) << "\n";
  } else {
    console.out << "godwit " GODWIT_VERSION "\n";
  }
  return exit_code::kSuccess;
}

int run_explain(const CommandLine& line, const Console& console) {
  if (line.name.empty()) {
    Table table(
        {{"CODE"}, {"EXIT", Table::Align::kRight}, {"HTTP", Table::Align::kRight}, {"WHAT"}});
    for (const Problem& problem : problem_catalogue()) {
      table.add({std::string(problem.code), std::to_string(problem.exit_code),
                 std::to_string(problem.http_status), std::string(problem.title)});
    }
    console.out << table.text();
    return exit_code::kSuccess;
  }
  const Problem* const problem = find_problem(line.name);
  if (problem == nullptr) {
    return report(console, Failure("GODWIT-E4002", "no error has the code \"" + line.name + "\"",
                                   "list them: godwit explain"));
  }
  console.out << problem->code << "  " << problem->title << "\n\ncause  " << problem->cause
              << "\nfix    " << problem->fix << "\nexit   " << problem->exit_code << "\nHTTP   "
              << problem->http_status << "\nretry  " << (problem->retryable ? "yes" : "no") << "\n";
  return exit_code::kSuccess;
}

int print_exit_codes(const Console& console) {
  namespace code = exit_code;
  Table table({{"CODE", Table::Align::kRight}, {"MEANING"}});
  const auto row = [&table](int number, const char* meaning) {
    table.add({std::to_string(number), meaning});
  };
  row(code::kSuccess, "success");
  row(code::kFailed, "the operation failed");
  row(code::kUsage, "command line or configuration is wrong");
  row(code::kCannotConnect, "nothing answers");
  row(code::kNotFound, "not found");
  row(code::kConflict, "conflict: a precondition does not hold");
  row(code::kForbidden, "not authenticated, or not allowed");
  row(code::kTimedOut, "timed out: what was asked may still happen");
  row(code::kIncompatible, "of another version");
  row(code::kCritical, "status: critical");
  row(code::kDegraded, "status --strict: degraded");
  row(code::kBug, "a bug of godwit");
  row(code::kInterrupted, "interrupted");
  console.out << table.text();
  return exit_code::kSuccess;
}

int run_in_cluster(const CommandLine& line, const Console& console) {
  const auto config = load_cluster_config(line.directory / kClusterFileName);
  if (!config) return report(console, config.error());
  const auto program = server_program();
  if (!program) return report(console, program.error());
  const Processes processes(*config, *program);
  switch (line.command) {
    case Command::kUp:
      return run_up(line, *config, processes, console);
    case Command::kDown:
      return run_down(*config, processes, console);
    case Command::kKill:
      return run_kill(line, *config, processes, console);
    case Command::kStart:
      return run_start(line, *config, processes, console);
    case Command::kStatus:
      return run_status(line, *config, console);
    case Command::kModeSync:
    case Command::kModeAsync:
      return run_mode(line, *config, console);
    case Command::kPromote:
      return run_promote(line, *config, console);
    case Command::kVerify:
      return line.offline ? run_verify_offline(line, *config, processes, console)
                          : run_verify(line, *config, console);
    case Command::kCheckpointCreate:
    case Command::kCheckpointList:
    case Command::kCheckpointShow:
    case Command::kCheckpointVerify:
    case Command::kCheckpointRestore:
    case Command::kCheckpointPin:
    case Command::kCheckpointRemove:
      return run_checkpoint(line, *config, console);
    case Command::kModelExport:
      return run_model_export(line, *config, console);
    case Command::kModelImport:
      return run_model_import(line, *config, console);
    case Command::kInit:
    case Command::kDoctor:
    case Command::kExplain:
    case Command::kVersion:
    case Command::kExitCodes:
      break;
  }
  GODWIT_CHECK(false, "the other commands need no cluster");
  return exit_code::kBug;
}

}  // namespace

int run(const std::vector<std::string>& arguments, const Console& console) {
  const ParsedCommandLine parsed = parse_command_line(arguments);
  if (!parsed.line) {
    console.out << parsed.out;
    console.error << parsed.error;
    return parsed.exit_code;
  }
  switch (parsed.line->command) {
    case Command::kInit:
      return run_init(*parsed.line, console);
    case Command::kDoctor:
      return run_doctor(*parsed.line, console);
    case Command::kExplain:
      return run_explain(*parsed.line, console);
    case Command::kVersion:
      return run_version(*parsed.line, console);
    case Command::kExitCodes:
      return print_exit_codes(console);
    default:
      return run_in_cluster(*parsed.line, console);
  }
}

}  // namespace godwit::cli
