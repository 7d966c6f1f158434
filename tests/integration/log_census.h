// Log census: how often each push is named by the entries in a stopped server's store. Counts ids in the log
// itself, entry by entry, and looks into no table.
#pragma once

#include <filesystem>
#include <map>
#include <tuple>
#include <vector>

#include "shared/base/result.h"
#include "shared/protocol/push.h"

namespace godwit::integration {

struct ShardPush {
  ShardId shard;
  PushId id;
  auto operator<=>(const ShardPush&) const = default;
};

struct LogCensus {
  std::map<ShardPush, std::uint64_t> named;  // how often
  std::vector<Version> heads;                // per shard
};

// Reads versions 1, 2, ... of every shard, which must all be retained. Errors: those of the store, kCorrupt.
Result<LogCensus> take_census(const std::filesystem::path& store, std::uint32_t shards);

// Lines "shard worker incarnation sequence", as workers write them. A torn last line does not count.
std::vector<ShardPush> read_acknowledgements(const std::filesystem::path& file);

}  // namespace godwit::integration
