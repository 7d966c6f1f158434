// `godwit model export` and `godwit model import`.
#pragma once

#include "server/cli/command_line.h"
#include "server/cli/console.h"
#include "shared/net/cluster_config.h"

namespace godwit::cli {

// From the first server that has what is asked for.
int run_model_export(const CommandLine& line, const ClusterConfig& config, const Console& console);
// As a worker that brings its model and leaves: the run has not begun, or it is a conflict.
int run_model_import(const CommandLine& line, const ClusterConfig& config, const Console& console);

}  // namespace godwit::cli
