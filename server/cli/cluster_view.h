// ClusterView: what every server of a cluster.toml says of itself, put side by side, and what is
// wrong with it.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "shared/base/result.h"
#include "shared/base/time.h"
#include "shared/net/cluster_config.h"

namespace godwit::cli {

struct ShardView {
  std::uint32_t shard = 0;
  bool leads = false;
  std::string leader_region;
  std::vector<std::string> in_sync;  // regions
  std::uint64_t version = 0;
  std::uint64_t watermark = 0;
  std::uint64_t epoch = 0;
  std::uint64_t round = 0;
  std::string mode;
  std::uint64_t mode_epoch = 0;
  std::string optimizer;
  std::uint64_t restore_epoch = 0;
  std::uint64_t tokens = 0;
  std::uint64_t parameters = 0;
  std::uint64_t outbox_items = 0;
  std::string waiting_for;
};

struct LinkView {
  std::string region;
  bool up = false;
  double rtt_seconds = 0;
  std::uint64_t sent_bytes = 0;
  std::uint64_t received_bytes = 0;
};

struct ServerView {
  std::string name;
  std::string region;
  bool answers = false;
  std::string fault;  // does not answer, or is not ready: why
  bool ready = false;
  std::string program_version;
  double up_seconds = 0;
  std::string ack;
  std::string mode;  // as the control store has it
  std::uint64_t mode_epoch = 0;
  std::uint32_t sync_steps = 0;
  std::vector<ShardView> shards;
  std::map<std::string, std::uint32_t> workers;  // by state
  std::vector<LinkView> links;

  std::uint64_t wan_sent_bytes() const;
  std::uint64_t wan_received_bytes() const;
};

// Errors: kMalformed.
Result<ServerView> parse_server_view(const std::string& json);

enum class Severity : unsigned char { kWarning, kCritical };
struct Finding {
  std::string code;
  Severity severity = Severity::kWarning;
  std::string subject;  // "us-west", "us-west -> eu-central"
  std::string text;
  std::string fix;
};

enum class Health : unsigned char { kOk, kDegraded, kCritical, kNoAnswer };
std::string_view name(Health health);

struct ClusterView {
  std::string cluster;
  std::string control;
  std::vector<ServerView> servers;  // in the order of cluster.toml

  // The newest version of a shard on any replica; 0 when nobody has it.
  std::uint64_t newest_version(std::uint32_t shard) const;
  // The most that one of this server's replicas is behind.
  std::uint64_t behind_versions(const ServerView& server) const;
  // The replica that leads a shard, in the newest epoch if an older leader has not heard of it yet; nullptr when
  // none answers.
  const ShardView* leader(std::uint32_t shard) const;
  const ServerView* find(std::string_view region) const;
  std::vector<Finding> findings() const;
  Health health() const;
};

// Above this a region counts as behind: more than what is under way on a slow link.
inline constexpr std::uint64_t kBehindVersions = 8;

// Asks all servers at once.
ClusterView look_at(const ClusterConfig& config, Duration deadline);

}  // namespace godwit::cli
