// LocalCluster: the folder of a small cluster, as `godwit init` writes it, gone when the object goes.
// LocalServer: one of its servers, the real one, in this process on threads of its own.
#pragma once

#include <filesystem>
#include <memory>
#include <thread>

#include "server/app/region_server.h"

namespace godwit::bench {

struct ClusterPlan {
  std::string regions = "1";  // how many; the first one's server hosts the control store
  std::string ack = "region";
  std::string codec;          // of contributions and updates; empty: the default of a run
  std::uint32_t block_parameters = 0;
};

class LocalCluster {
 public:
  // One shard. `parent` lies on the disk that stores are measured on. Errors: kConfig, kIo.
  static Result<std::unique_ptr<LocalCluster>> create(const ClusterPlan& plan, const std::filesystem::path& parent);
  ~LocalCluster();
  LocalCluster(const LocalCluster&) = delete;
  LocalCluster& operator=(const LocalCluster&) = delete;

  const ClusterConfig& config() const { return config_; }
  const ServerConfig& first() const { return config_.servers.front(); }

 private:
  explicit LocalCluster(std::filesystem::path folder) : folder_(std::move(folder)) {}
  std::filesystem::path folder_;
  ClusterConfig config_;
};

class LocalServer {
 public:
  // The first server of `cluster`, which outlives this. Errors: those of RegionServer::start.
  static Result<std::unique_ptr<LocalServer>> start(const LocalCluster& cluster);
  ~LocalServer();
  LocalServer(const LocalServer&) = delete;
  LocalServer& operator=(const LocalServer&) = delete;

 private:
  explicit LocalServer(const LocalCluster& cluster);
  metrics::Registry registry_;
  std::unique_ptr<app::RegionServer> server_;
  std::thread thread_;
};

}  // namespace godwit::bench
