// `godwit status` and `godwit mode`.
#pragma once

#include "server/cli/cluster_view.h"
#include "server/cli/command_line.h"
#include "server/cli/console.h"

namespace godwit::cli {

std::string status_table(const ClusterView& view);
std::string status_json(const ClusterView& view);  // godwit.status/v1, of the whole cluster
int status_exit_code(Health health, bool strict);

int run_status(const CommandLine& line, const ClusterConfig& config, const Console& console);
int run_mode(const CommandLine& line, const ClusterConfig& config, const Console& console);

}  // namespace godwit::cli
