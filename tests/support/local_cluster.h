// LocalCluster: a cluster of real processes of this build on this machine, in a temporary folder: servers,
// workers (`godwit-example`), and what their admin ports answer. One thread.
#pragma once

#include <boost/json.hpp>
#include <filesystem>
#include <map>
#include <memory>
#include <optional>

#include "server/cli/init.h"
#include "tests/support/process.h"

namespace godwit::support {

struct ShardView {
  std::uint64_t version = 0, watermark = 0, outbox_items = 0;
  bool leads = false;
};

class LocalCluster {
 public:
  // The folder is written, nothing is started. `plan`: as on the command line of `godwit init`; `adjust`
  // changes what has no flag. A server is named like its region.
  explicit LocalCluster(const cli::InitFlags& plan, const std::function<void(ClusterConfig&)>& adjust = nullptr);

  const ClusterConfig& config() const { return config_; }
  const std::string& region(std::size_t index) const { return config_.regions[index]; }
  std::filesystem::path folder() const { return config_.folder; }

  void start_server(const std::string& region);
  void start_servers();
  void kill_server(const std::string& region) { servers_.at(region)->kill_now(); }  // SIGKILL
  Background& server(const std::string& region) { return *servers_.at(region); }
  int stop_server(const std::string& region);  // SIGTERM; its exit code

  // Worker "worker-0" of the region, training until an operator stops it. Each process appends its
  // acknowledgements to a file of its own, and its history to one for all of them.
  void start_worker(const std::string& region);
  void kill_worker(const std::string& region) { workers_.at(region)->kill_now(); }
  Background& worker(const std::string& region) { return *workers_.at(region); }
  void tell_workers_to_stop();

  // All files of a region's workers, and how many acknowledgements they hold.
  std::vector<std::filesystem::path> acknowledgement_files(const std::string& region) const;
  std::size_t acknowledgements(const std::string& region) const;
  std::filesystem::path history_file(const std::string& region) const { return folder() / (region + ".history"); }

  // The body of a 200; nullopt: anything else.
  std::optional<boost::json::object> get(const std::string& region, const std::string& target) const;
  // Per shard; empty when the server does not answer, or has no model yet.
  std::vector<ShardView> shards(const std::string& region) const;
  // Outboxes are empty, and all replicas at one version with nothing above the watermark.
  bool settled() const;

  std::string server_log(const std::string& region) const;
  // The ends of all logs, for the message of a failure.
  std::string logs() const;

  // Runs `godwit ARGUMENTS... -C FOLDER`.
  Output godwit(std::vector<std::string> arguments) const;

 private:
  TemporaryFolder temporary_;
  ClusterConfig config_;
  std::string token_;
  std::map<std::string, std::unique_ptr<Background>> servers_, workers_;
  std::map<std::string, std::size_t> worker_processes_;  // started so far
};

}  // namespace godwit::support
