// `godwit promote`.
#pragma once

#include "server/cli/command_line.h"
#include "server/cli/console.h"
#include "shared/net/cluster_config.h"

namespace godwit::cli {

// Asks the control host, then waits until the region leads.
int run_promote(const CommandLine& line, const ClusterConfig& config, const Console& console);

}  // namespace godwit::cli
