// What cluster.toml says, as the core's RunSettings.
#pragma once

#include "server/core/settings.h"
#include "shared/net/cluster_config.h"

namespace godwit::app {

RunSettings run_settings(const ClusterConfig& config);

}  // namespace godwit::app
