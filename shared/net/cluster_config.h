// ClusterConfig: the file cluster.toml, as values: which servers there are and how the run behaves.
// Server process and `godwit` read the same file. Strict: an unknown key, a number without its unit
// or a value out of range is an error that says where it stands, what is wrong, and what would be
// right. Pure but for load().
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

#include "shared/base/result.h"
#include "shared/base/strong_id.h"
#include "shared/base/time.h"
#include "shared/codec/codec_ids.h"

namespace godwit {

struct HostPort {
  std::string host;  // a name or an address; IPv6 without its brackets
  std::uint16_t port = 0;
  bool operator==(const HostPort&) const = default;
  bool is_loopback() const;
};
std::string to_string(const HostPort& address);  // "127.0.0.1:7700", "[::1]:7700"
Result<HostPort> parse_host_port(std::string_view text);

// [[server]]
struct ServerConfig {
  std::string name;
  std::string region;
  RegionId region_id;  // index into ClusterConfig::regions
  HostPort data;       // TLS: workers and other servers
  HostPort admin;      // HTTP: probes, metrics, operators
  // An admin address that other machines reach must be asked for; reads need the token then, too.
  bool admin_beyond_loopback = false;
  bool operator==(const ServerConfig&) const = default;
};

// What an acknowledgement promises, weakest first; the numbers are those of the server's AckClass.
enum class Acknowledgement : std::uint8_t { kMemory, kRegion, kCommitted, kReplicated };
std::string_view name(Acknowledgement ack);
Result<Acknowledgement> parse_acknowledgement(std::string_view text);

// [run]. Names and defaults are those of RunSettings (server/core/settings.h) where both have a
// field.
struct RunConfig {
  std::uint32_t shards = 1;
  std::uint32_t block_parameters = 1U << 18;
  std::vector<RegionId> leaders;  // per shard
  Acknowledgement ack = Acknowledgement::kRegion;
  CodecSpec lan_codec{CodecId::kFp32, false};  // worker -> server: fp32 or bf16
  CodecSpec contribution_codec{CodecId::kInt8, true};
  CodecSpec update_codec{CodecId::kInt8, true};
  Duration window_min = milliseconds(250);
  Duration window_max = milliseconds(1500);
  Duration grace = seconds(3);
  Duration sync_grace = seconds(120);
  Duration lease = seconds(4);
  std::uint32_t sync_steps = 16;        // H of the sync mode until an operator says otherwise
  std::uint32_t max_local_steps = 512;  // of a worker that hears nothing from its servers
  double sgd_learning_rate = 1.0;
  double nesterov_learning_rate = 0.7;
  double nesterov_momentum = 0.9;
  std::uint32_t nesterov_steps_min = 16;
  bool operator==(const RunConfig&) const = default;
};

// [link]: the shaper for development, on connections between regions only.
struct LinkConfig {
  Duration delay{};                   // one way
  std::uint64_t bits_per_second = 0;  // 0: no limit
  bool operator==(const LinkConfig&) const = default;
};

// [checkpoint]: made by the leader of shard 0, whichever comes first.
struct CheckpointConfig {
  std::uint64_t versions = 1000;             // of shard 0 since the last one; 0: never
  Duration interval = std::chrono::minutes(30);  // 0: never
  std::uint32_t keep = 3;                    // newest ones of these; an operator's and pinned ones stay
  bool operator==(const CheckpointConfig&) const = default;
};

// [limits]. Full is an answer (`overloaded, retry after`), never growth.
struct LimitsConfig {
  Duration ack_max_delay = seconds(1);
  Duration retry_after = milliseconds(200);
  std::uint32_t outbox_items_max = 256;
  std::uint32_t open_aggregates_max = 4;
  std::uint32_t waiting_pulls_max = 4096;
  std::uint64_t push_staging_bytes = 256ULL << 20;
  std::uint64_t entry_cache_bytes = 64ULL << 20;
  std::uint64_t pull_reply_bytes = 32ULL << 20;
  std::uint64_t log_retained_versions = 1024;
  std::uint64_t snapshot_versions = 64;
  bool operator==(const LimitsConfig&) const = default;
};

struct ClusterConfig {
  std::string name;
  std::string control;               // name of the server that hosts the control store
  std::vector<std::string> regions;  // in the order of their first appearance: RegionId 0, 1, ...
  std::vector<ServerConfig> servers;
  RunConfig run;
  LinkConfig link;
  CheckpointConfig checkpoint;
  LimitsConfig limits;
  std::filesystem::path folder;  // of the file: everything below lies beside it

  bool operator==(const ClusterConfig&) const = default;

  const ServerConfig* find_server(std::string_view server) const;  // nullptr when there is none
  std::string server_names() const;  // "a, b, c": for messages that name what there is
  const ServerConfig* find_region(std::string_view region) const;  // its server; the same
  const ServerConfig& control_server() const;
  const ServerConfig& server_of(RegionId region) const;

  // `holder` is a server, "operator", or what worker_certificate() gives.
  std::filesystem::path certificate_file(std::string_view holder) const;
  std::filesystem::path key_file(std::string_view holder) const;
  std::filesystem::path authority_file() const;
  std::filesystem::path data_directory(std::string_view server) const;
  std::filesystem::path log_file(std::string_view server) const;
  std::filesystem::path pid_file(std::string_view server) const;
  std::filesystem::path admin_token_file() const;
};

inline constexpr std::string_view kClusterFileName = "cluster.toml";

// "<region>.<worker>": the certificate of a worker, as a holder.
std::string worker_certificate(std::string_view region, std::string_view worker);

// `path` is only for messages. Errors: kConfig, "cluster.toml:12:9: run.window_max: ...".
Result<ClusterConfig> parse_cluster_config(std::string_view text, std::string_view path);
// Also sets `folder`. Errors: those, kNotFound (says how to make one), kIo.
Result<ClusterConfig> load_cluster_config(const std::filesystem::path& file);

// A commented file for people, which parses to the same values. What has its default is left out or
// commented.
std::string write_cluster_config(const ClusterConfig& config);

// Leaders as the default places them: one region after the other, from the one after the control
// server's.
std::vector<RegionId> default_leaders(const ClusterConfig& config, std::uint32_t shards);

}  // namespace godwit
