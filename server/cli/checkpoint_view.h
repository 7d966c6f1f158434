// CheckpointView: a run's checkpoints, and which regions keep them, put together from what every
// server says.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "shared/base/result.h"
#include "shared/base/time.h"
#include "shared/net/cluster_config.h"

namespace godwit::cli {

struct CheckpointView {
  struct Shard {
    std::uint64_t version = 0;
    std::string entry_hash;
    std::vector<std::string> kept_by;  // regions
  };
  std::uint64_t id = 0;
  std::int64_t created_seconds = 0;  // Unix time
  std::string reason;
  bool automatic = false;
  bool pinned = false;
  std::vector<Shard> shards;

  // Regions that keep every shard.
  std::vector<std::string> kept_by() const;
  // How long it stays, for people.
  std::string stays() const;
};

// Of one answer to GET /api/v1/checkpoints. Errors: kMalformed.
Result<std::vector<CheckpointView>> parse_checkpoints(const std::string& json);
// By id. Errors: kUnavailable: no server answers.
Result<std::vector<CheckpointView>> look_at_checkpoints(const ClusterConfig& config,
                                                        Duration deadline);

}  // namespace godwit::cli
