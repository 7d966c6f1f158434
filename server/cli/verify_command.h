// `godwit verify`: all replicas of a running cluster against each other, or (--offline) the stores
// of a stopped one.
#pragma once

#include "server/cli/command_line.h"
#include "server/cli/console.h"
#include "server/cli/processes.h"
#include "shared/net/cluster_config.h"

namespace godwit::cli {

int run_verify(const CommandLine& line, const ClusterConfig& config, const Console& console);
int run_verify_offline(const CommandLine& line, const ClusterConfig& config,
                       const Processes& processes, const Console& console);

}  // namespace godwit::cli
