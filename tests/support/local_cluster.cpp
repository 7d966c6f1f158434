#include "tests/support/local_cluster.h"

#include <fstream>
#include <sstream>

#include "server/cli/admin_client.h"
#include "server/cli/processes.h"
#include "shared/base/check.h"

namespace godwit::support {
namespace {

constexpr auto kAnswerDeadline = seconds(5);
constexpr auto kStopDeadline = std::chrono::seconds(20);
constexpr std::size_t kLogLines = 25;
constexpr const char* kWorker = "worker-0";

void require(const Result<void>& result) { GODWIT_REQUIRE(result.has_value(), result.error().to_string()); }

std::uint64_t number(const boost::json::value& value) {
  return std::stoull(std::string(value.as_string().data(), value.as_string().size()));
}

}  // namespace

LocalCluster::LocalCluster(const cli::InitFlags& plan, const std::function<void(ClusterConfig&)>& adjust) {
  Result<ClusterConfig> config = cli::plan_cluster(plan);
  GODWIT_REQUIRE(config.has_value(), config.error().to_string());
  if (adjust) adjust(*config);
  require(cli::pick_ports(*config));
  const std::filesystem::path folder = temporary_.path() + "/cluster";
  require(cli::write_cluster(*config, plan.workers, folder));
  Result<ClusterConfig> loaded = load_cluster_config(folder / kClusterFileName);
  GODWIT_REQUIRE(loaded.has_value(), loaded.error().to_string());
  config_ = std::move(*loaded);
  token_ = cli::read_admin_token(config_);
}

void LocalCluster::start_server(const std::string& region) {
  servers_[region] = std::make_unique<Background>(
      std::vector<std::string>{GODWIT_SERVER_PROGRAM, "--config", (folder() / kClusterFileName).string(), "--name",
                               region},
      config_.log_file(region).string());
}

void LocalCluster::start_servers() {
  for (const std::string& region : config_.regions) start_server(region);
}

int LocalCluster::stop_server(const std::string& region) { return servers_.at(region)->terminate(kStopDeadline); }

void LocalCluster::start_worker(const std::string& region) {
  const std::size_t process = ++worker_processes_[region];
  const ServerConfig* const server = config_.find_server(region);
  workers_[region] = std::make_unique<Background>(
      std::vector<std::string>{GODWIT_EXAMPLE_PROGRAM, to_string(server->data), region, kWorker,
                               config_.authority_file().parent_path().string(),
                               (folder() / (region + "." + std::to_string(process) + ".acks")).string(), "0",
                               history_file(region).string()},
      config_.log_file(worker_certificate(region, kWorker)).string());
}

void LocalCluster::tell_workers_to_stop() {
  for (const ServerConfig& server : config_.servers) {
    const auto answer = cli::AdminClient(server.admin, token_).post("/api/v1/stop", "{}", kAnswerDeadline);
    GODWIT_REQUIRE(answer && answer->status / 100 == 2,
                   server.name + " stops its workers: " + (answer ? answer->body : answer.error().to_string()));
  }
}

std::vector<std::filesystem::path> LocalCluster::acknowledgement_files(const std::string& region) const {
  std::vector<std::filesystem::path> files;
  for (std::size_t process = 1; process <= worker_processes_.at(region); ++process) {
    const auto file = folder() / (region + "." + std::to_string(process) + ".acks");
    if (std::filesystem::exists(file)) files.push_back(file);
  }
  return files;
}

std::size_t LocalCluster::acknowledgements(const std::string& region) const {
  std::size_t count = 0;
  for (const auto& file : acknowledgement_files(region)) {
    std::ifstream in(file);
    count += static_cast<std::size_t>(std::count(std::istreambuf_iterator<char>(in), {}, '\n'));
  }
  return count;
}

std::optional<boost::json::object> LocalCluster::get(const std::string& region, const std::string& target) const {
  const auto answer = cli::AdminClient(config_.find_server(region)->admin, token_).get(target, kAnswerDeadline);
  if (!answer || answer->status != 200) return std::nullopt;
  return boost::json::parse(answer->body).as_object();
}

std::vector<ShardView> LocalCluster::shards(const std::string& region) const {
  std::vector<ShardView> views;
  const auto status = get(region, "/api/v1/status");
  if (!status) return views;
  for (const boost::json::value& shard : status->at("shards").as_array()) {
    views.push_back({number(shard.at("version")), number(shard.at("watermark")), number(shard.at("outbox_items")),
                     shard.at("leads").as_bool()});
  }
  return views;
}

bool LocalCluster::settled() const {
  std::vector<std::uint64_t> common;
  for (const std::string& region : config_.regions) {
    std::vector<std::uint64_t> versions;
    for (const ShardView& shard : shards(region)) {
      if (shard.outbox_items > 0 || shard.watermark != shard.version) return false;
      versions.push_back(shard.version);
    }
    if (versions.empty() || (!common.empty() && versions != common)) return false;
    common = versions;
  }
  return true;
}

std::string LocalCluster::server_log(const std::string& region) const {
  std::ifstream in(config_.log_file(region));
  std::stringstream text;
  text << in.rdbuf();
  return text.str();
}

std::string LocalCluster::logs() const {
  std::string text;
  for (const std::string& region : config_.regions) {
    for (const std::string& process : {region, worker_certificate(region, kWorker)}) {
      text += "---- " + process + "\n" + cli::last_lines(config_.log_file(process), kLogLines) + "\n";
    }
  }
  return text;
}

Output LocalCluster::godwit(std::vector<std::string> arguments) const {
  arguments.insert(arguments.begin(), GODWIT_CLI_PROGRAM);
  arguments.insert(arguments.end(), {"-C", folder().string()});
  return run(arguments);
}

}  // namespace godwit::support
