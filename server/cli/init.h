// `godwit init`: the folder of a cluster on this machine: cluster.toml, authority and certificates,
// admin.token.
#pragma once

#include "server/cli/command_line.h"
#include "server/cli/console.h"
#include "shared/net/cluster_config.h"

namespace godwit::cli {

// The configuration that the flags ask for. Ports of this machine are still 0; servers on machines
// of their own have the usual ones. Errors: kConfig, naming the flag.
Result<ClusterConfig> plan_cluster(const InitFlags& flags);
// Where a port is 0: a loopback port that is free now. Errors: kIo.
Result<void> pick_ports(ClusterConfig& config);
// Writes everything into `directory`, cluster.toml last. Errors: kIo, kConfig.
Result<void> write_cluster(const ClusterConfig& config, std::uint32_t workers,
                           const std::filesystem::path& directory);

int run_init(const CommandLine& line, const Console& console);

}  // namespace godwit::cli
