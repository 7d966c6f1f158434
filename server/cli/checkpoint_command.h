// `godwit checkpoint`: create, list, show, verify, restore, pin, rm.
#pragma once

#include "server/cli/command_line.h"
#include "server/cli/console.h"
#include "shared/net/cluster_config.h"

namespace godwit::cli {

int run_checkpoint(const CommandLine& line, const ClusterConfig& config, const Console& console);

}  // namespace godwit::cli
