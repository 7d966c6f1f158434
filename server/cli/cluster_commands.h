// `godwit up`, `down`, `kill`, `start`: a cluster of real processes on this machine.
#pragma once

#include "server/cli/command_line.h"
#include "server/cli/console.h"
#include "server/cli/processes.h"

namespace godwit::cli {

int run_up(const CommandLine& line, const ClusterConfig& config, const Processes& processes,
           const Console& console);
int run_down(const ClusterConfig& config, const Processes& processes, const Console& console);
int run_kill(const CommandLine& line, const ClusterConfig& config, const Processes& processes,
             const Console& console);
int run_start(const CommandLine& line, const ClusterConfig& config, const Processes& processes,
              const Console& console);

// With the name that was meant, or all there are.
Failure no_such_server(const ClusterConfig& config, const std::string& name);

}  // namespace godwit::cli
