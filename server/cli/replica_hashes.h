// The hashes of one replica of a shard at a version, and what two of them differ in.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "server/cli/admin_client.h"

namespace godwit::cli {

struct ReplicaHashes {
  std::string entry;
  std::vector<std::string> blocks;
};

// What the replica holds. Errors: kNotFound: not there (yet, or any more); kUnavailable.
Result<ReplicaHashes> held_hashes(const ServerConfig& server, const std::string& token,
                                  std::uint32_t shard, std::uint64_t version);
// What it rebuilds from its store. The same errors.
Result<ReplicaHashes> rebuilt_hashes(const ServerConfig& server, const std::string& token,
                                     std::uint32_t shard, std::uint64_t version);
// "" when there is none.
std::string first_difference(const ReplicaHashes& one, const ReplicaHashes& other);

}  // namespace godwit::cli
