#include "bench/local_server.h"

#include <unistd.h>

#include <cstdlib>

#include "server/cli/init.h"
#include "shared/base/log.h"

namespace godwit::bench {

Result<std::unique_ptr<LocalCluster>> LocalCluster::create(const ClusterPlan& plan,
                                                           const std::filesystem::path& parent) {
  std::string folder = (parent / "godwit-bench-XXXXXX").string();
  if (::mkdtemp(folder.data()) == nullptr) {
    return Error{Errc::kIo, "cannot make a folder in " + parent.string() + ": choose another one with --directory"};
  }
  std::unique_ptr<LocalCluster> cluster(new LocalCluster(folder));
  cli::InitFlags flags;
  flags.name = "bench";
  flags.regions = plan.regions;
  flags.shards = 1;
  flags.ack = plan.ack;
  flags.codec = plan.codec;
  flags.block_parameters = plan.block_parameters;
  Result<ClusterConfig> config = cli::plan_cluster(flags);
  if (!config) return config.error();
  if (Result<void> picked = cli::pick_ports(*config); !picked) return picked.error();
  if (Result<void> written = cli::write_cluster(*config, 1, folder); !written) return written.error();
  Result<ClusterConfig> loaded = load_cluster_config(cluster->folder_ / kClusterFileName);
  if (!loaded) return loaded.error();
  cluster->config_ = std::move(*loaded);
  return cluster;
}

LocalCluster::~LocalCluster() {
  std::error_code ignored;
  std::filesystem::remove_all(folder_, ignored);
}

LocalServer::LocalServer(const LocalCluster& cluster)
    : registry_({cluster.config().name, cluster.first().region, GODWIT_VERSION, "", __VERSION__, "1"}) {}

Result<std::unique_ptr<LocalServer>> LocalServer::start(const LocalCluster& cluster) {
  std::unique_ptr<LocalServer> local(new LocalServer(cluster));
  auto server = app::RegionServer::start(cluster.config(), cluster.first().name, local->registry_);
  if (!server) return server.error();
  local->server_ = std::move(*server);
  local->thread_ = std::thread([server = local->server_.get()] {
    if (const Result<void> ended = server->run(); !ended) log::error("bench", ended.error().to_string());
  });
  return local;
}

LocalServer::~LocalServer() {
  if (!thread_.joinable()) return;
  server_->stop();
  thread_.join();
}

}  // namespace godwit::bench
