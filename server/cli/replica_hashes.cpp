#include "server/cli/replica_hashes.h"

#include <algorithm>

#include "server/cli/json_fields.h"

namespace godwit::cli {
namespace {

constexpr Duration kDeadline = seconds(10);
constexpr Duration kRebuildDeadline = seconds(120);

Result<ReplicaHashes> ask(const ServerConfig& server, const std::string& token,
                          const std::string& target, Duration deadline) {
  const auto answer = AdminClient(server.admin, token).get(target, deadline);
  if (!answer) return answer.error();
  if (answer->status != 200) {
    const Errc code = answer->status == 404 ? Errc::kNotFound : Errc::kUnavailable;
    return Error{code, server.name + ": " + failure_of(*answer).detail};
  }
  boost::json::error_code error;
  const boost::json::value parsed = boost::json::parse(answer->body, error);
  const JsonFields in(parsed);
  ReplicaHashes hashes{in.text("entry_hash"), {}};
  for (const boost::json::value& block : in.list("blocks")) {
    if (block.is_string())
      hashes.blocks.emplace_back(block.as_string().data(), block.as_string().size());
  }
  return hashes;
}

std::string target_of(std::uint32_t shard, std::uint64_t version) {
  return "/api/v1/shards/" + std::to_string(shard) + "/hashes?version=" + std::to_string(version);
}

}  // namespace

Result<ReplicaHashes> held_hashes(const ServerConfig& server, const std::string& token,
                                  std::uint32_t shard, std::uint64_t version) {
  return ask(server, token, target_of(shard, version), kDeadline);
}

Result<ReplicaHashes> rebuilt_hashes(const ServerConfig& server, const std::string& token,
                                     std::uint32_t shard, std::uint64_t version) {
  return ask(server, token, target_of(shard, version) + "&rebuild", kRebuildDeadline);
}

std::string first_difference(const ReplicaHashes& one, const ReplicaHashes& other) {
  for (std::size_t block = 0; block < std::min(one.blocks.size(), other.blocks.size()); ++block) {
    if (one.blocks[block] == other.blocks[block]) continue;
    return "block " + std::to_string(block) + ": " + one.blocks[block] + " and " +
           other.blocks[block];
  }
  if (one.blocks.size() != other.blocks.size())
    return std::to_string(one.blocks.size()) + " and " + std::to_string(other.blocks.size()) +
           " blocks";
  return one.entry == other.entry ? "" : "the log: entry " + one.entry + " and " + other.entry;
}

}  // namespace godwit::cli
