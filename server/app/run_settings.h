// What cluster.toml says, as the core's RunSettings.
#pragma once

#include "server/core/settings.h"
#include "shared/net/cluster_config.h"
#include "shared/protocol/manifest.h"

namespace godwit::app {

RunSettings run_settings(const ClusterConfig& config);

// Whether a server with so much memory can hold the model: its parameters and their momentum in fp32. A manifest is
// a few bytes, so one that says 2^40 must be judged before anything is allocated. REQUIRES: manifest.validate().
// Error: kTooLarge.
Result<void> fits_in_memory(const Manifest& manifest, std::uint64_t memory_bytes);
// Of this machine.
std::uint64_t physical_memory_bytes();

}  // namespace godwit::app
