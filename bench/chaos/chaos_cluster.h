// ChaosCluster: three regions of real processes of this build, with two shards, a worker in each region, and
// proxies on the wires between regions. Each server has a folder of its own, in whose cluster.toml the other
// servers' data addresses are those of proxies. Servers and workers are named by the index of their region.
//
// The main thread, except where another one is named. Nothing outlives the object: processes die with it, or with
// this process.
#pragma once

#include <filesystem>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <vector>

#include "bench/chaos/link_proxy.h"
#include "server/cli/cluster_view.h"
#include "server/cli/offline_audit.h"
#include "tests/history/checker.h"
#include "tests/support/process.h"

namespace godwit::bench {

// Whether two regions are well and hear each other: from then on, versions must go on.
struct Health {
  TimePoint at;
  bool two_regions_well = false;
};

class ChaosCluster {
 public:
  // The folders are written in `parent`, nothing is started. Errors: kConfig, kIo.
  static Result<std::unique_ptr<ChaosCluster>> create(const std::filesystem::path& parent);
  ~ChaosCluster();  // removes the folders, unless keep() was called
  ChaosCluster(const ChaosCluster&) = delete;
  ChaosCluster& operator=(const ChaosCluster&) = delete;

  const ClusterConfig& config() const { return config_; }
  std::size_t regions() const { return config_.regions.size(); }
  std::size_t control_region() const { return config_.control_server().region_id.value(); }
  std::filesystem::path keep() { return keep_ = true, folder_; }

  void start_server(std::size_t region);
  void kill_server(std::size_t region);
  void pause_server(std::size_t region);
  void resume_server(std::size_t region);
  bool server_well(std::size_t region) const { return started_.contains(region) && !paused_.contains(region); }
  // Its process ended although nobody killed it.
  bool server_fell(std::size_t region);
  int stop_server(std::size_t region);  // SIGTERM; its exit code
  pid_t server_process(std::size_t region) const { return servers_.at(region)->pid(); }

  void start_worker(std::size_t region);
  void kill_worker(std::size_t region);
  bool worker_fell(std::size_t region);  // as server_fell
  // Of an ended worker; nullopt: it runs.
  std::optional<int> worker_exit_code(std::size_t region);

  void set_link(std::size_t one, std::size_t other, LinkState state);
  bool link_whole(std::size_t one, std::size_t other) const;

  // What the server says of itself; nullopt when it does not. Any thread.
  std::optional<cli::ServerView> ask(std::size_t region, Duration deadline) const;
  // The answer's body; empty unless it is a 2xx.
  std::string get(std::size_t region, const std::string& target) const;
  bool post(std::size_t region, const std::string& target, const std::string& json) const;

  const std::vector<Health>& health() const { return health_; }
  // Of the stopped servers' stores, against what workers were told. Errors: those of the reader.
  Result<cli::OfflineReport> audit() const;
  // Of what the workers recorded. Errors: kMalformed.
  Result<history::Report> judge_histories() const;
  // The ends of all logs, for the message of a failure.
  std::string logs() const;

 private:
  explicit ChaosCluster(std::filesystem::path folder) : folder_(std::move(folder)) {}
  Result<void> write_folders();
  Result<void> write_server_folder(const ServerConfig& own);
  std::filesystem::path folder_of(std::size_t region) const { return folder_ / config_.servers[region].name; }
  std::filesystem::path log_of(const std::string& process) const { return folder_ / (process + ".log"); }
  // One for all processes of a worker.
  std::filesystem::path history_of(std::size_t region) const { return folder_of(region) / "worker.history"; }
  void note_health();

  std::filesystem::path folder_;
  bool keep_ = false;
  ClusterConfig config_;  // with the true addresses
  std::string token_;
  std::filesystem::path programs_;
  LinkProxies proxies_;
  std::map<std::size_t, std::unique_ptr<support::Background>> servers_, workers_;
  std::vector<std::filesystem::path> acknowledgement_files_;
  std::set<std::size_t> started_, paused_, training_;
  std::set<std::pair<std::size_t, std::size_t>> broken_links_;  // lower region first
  std::vector<Health> health_;
};

}  // namespace godwit::bench
