#include "bench/chaos/chaos_cluster.h"

#include <signal.h>

#include <algorithm>
#include <cstdlib>
#include <fstream>

#include "server/cli/admin_client.h"
#include "server/cli/init.h"
#include "server/cli/processes.h"
#include "shared/net/clock.h"

namespace godwit::bench {
namespace {

constexpr Duration kAnswerDeadline = seconds(2);
constexpr auto kStopDeadline = std::chrono::seconds(20);
constexpr std::size_t kLogLines = 40;
constexpr const char* kWorker = "worker-0";

std::pair<std::size_t, std::size_t> ordered(std::size_t one, std::size_t other) { return std::minmax({one, other}); }

}  // namespace

Result<std::unique_ptr<ChaosCluster>> ChaosCluster::create(const std::filesystem::path& parent) {
  std::string folder = (parent / "godwit-chaos-XXXXXX").string();
  if (::mkdtemp(folder.data()) == nullptr) {
    return Error{Errc::kIo, "cannot make a folder in " + parent.string() + ": choose another one with --directory"};
  }
  std::unique_ptr<ChaosCluster> cluster(new ChaosCluster(folder));
  if (Result<void> written = cluster->write_folders(); !written) return written.error();
  return cluster;
}

ChaosCluster::~ChaosCluster() {
  workers_.clear();
  servers_.clear();
  std::error_code ignored;
  if (!keep_) std::filesystem::remove_all(folder_, ignored);
}

Result<void> ChaosCluster::write_folders() {
  const Result<std::filesystem::path> program = cli::server_program();
  if (!program) return program.error();
  programs_ = program->parent_path();
  cli::InitFlags flags;
  flags.name = "chaos";
  flags.regions = "3";
  flags.shards = 2;
  flags.window = "300ms";
  flags.block_parameters = 1024;
  Result<ClusterConfig> config = cli::plan_cluster(flags);
  if (!config) return config.error();
  config->limits.log_retained_versions = 1U << 20;  // all of them: what the audit counts in
  if (Result<void> picked = cli::pick_ports(*config); !picked) return picked;
  if (Result<void> written = cli::write_cluster(*config, 1, folder_); !written) return written;
  Result<ClusterConfig> loaded = load_cluster_config(folder_ / kClusterFileName);
  if (!loaded) return loaded.error();
  config_ = std::move(*loaded);
  token_ = cli::read_admin_token(config_);
  for (const ServerConfig& server : config_.servers) {
    if (Result<void> written = write_server_folder(server); !written) return written;
  }
  return {};
}

Result<void> ChaosCluster::write_server_folder(const ServerConfig& own) {
  ClusterConfig config = config_;
  for (ServerConfig& other : config.servers) {
    if (other.name == own.name) continue;
    const Result<std::uint16_t> port = proxies_.add(own.region_id.value(), other.region_id.value(), other.data.port);
    if (!port) return port.error();
    other.data.port = *port;
  }
  config.folder = folder_of(own.region_id.value());
  std::error_code error;
  std::filesystem::create_directory(config.folder, error);
  for (const std::filesystem::path& shared : {config_.authority_file().parent_path(), config_.admin_token_file()}) {
    if (!error) std::filesystem::create_symlink(shared, config.folder / shared.filename(), error);
  }
  std::ofstream out(config.folder / kClusterFileName);
  out << write_cluster_config(config);
  out.close();
  if (error || !out) return Error{Errc::kIo, "cannot write " + config.folder.string() + ": " + error.message()};
  return {};
}

void ChaosCluster::start_server(std::size_t region) {
  const std::string& name = config_.servers[region].name;
  servers_[region] = std::make_unique<support::Background>(
      std::vector<std::string>{(programs_ / "godwit-server").string(), "--config",
                               (folder_of(region) / kClusterFileName).string(), "--name", name},
      log_of(name).string());
  started_.insert(region);
  note_health();
}

void ChaosCluster::kill_server(std::size_t region) {
  started_.erase(region);
  paused_.erase(region);
  servers_.at(region)->kill_now();
  note_health();
}

void ChaosCluster::pause_server(std::size_t region) {
  paused_.insert(region);
  ::kill(servers_.at(region)->pid(), SIGSTOP);
  note_health();
}

void ChaosCluster::resume_server(std::size_t region) {
  ::kill(servers_.at(region)->pid(), SIGCONT);
  paused_.erase(region);
  note_health();
}

bool ChaosCluster::server_fell(std::size_t region) {
  if (!started_.contains(region) || servers_.at(region)->running()) return false;
  started_.erase(region);
  note_health();
  return true;
}

int ChaosCluster::stop_server(std::size_t region) {
  started_.erase(region);
  return servers_.at(region)->terminate(kStopDeadline);
}

void ChaosCluster::start_worker(std::size_t region) {
  const ServerConfig& server = config_.servers[region];
  acknowledgement_files_.push_back(folder_ / ("process-" + std::to_string(acknowledgement_files_.size()) + ".acks"));
  workers_[region] = std::make_unique<support::Background>(
      std::vector<std::string>{(programs_ / "godwit-example").string(), to_string(server.data), server.region, kWorker,
                               config_.authority_file().parent_path().string(),
                               acknowledgement_files_.back().string(), "0", history_of(region).string()},
      log_of(worker_certificate(server.region, kWorker)).string());
  training_.insert(region);
}

void ChaosCluster::kill_worker(std::size_t region) {
  training_.erase(region);
  workers_.at(region)->kill_now();
}

bool ChaosCluster::worker_fell(std::size_t region) {
  if (!training_.contains(region) || workers_.at(region)->running()) return false;
  training_.erase(region);
  return true;
}

std::optional<int> ChaosCluster::worker_exit_code(std::size_t region) {
  if (workers_.at(region)->running()) return std::nullopt;
  return workers_.at(region)->wait(std::chrono::seconds(0));
}

void ChaosCluster::set_link(std::size_t one, std::size_t other, LinkState state) {
  proxies_.set(one, other, state);
  if (state == LinkState::kWhole) broken_links_.erase(ordered(one, other));
  else broken_links_.insert(ordered(one, other));
  note_health();
}

bool ChaosCluster::link_whole(std::size_t one, std::size_t other) const {
  return !broken_links_.contains(ordered(one, other));
}

void ChaosCluster::note_health() {
  bool well = false;
  for (std::size_t one = 0; one < regions(); ++one) {
    for (std::size_t other = one + 1; other < regions(); ++other) {
      well = well || (server_well(one) && server_well(other) && link_whole(one, other));
    }
  }
  if (health_.empty() || health_.back().two_regions_well != well) health_.push_back({net::now(), well});
}

std::optional<cli::ServerView> ChaosCluster::ask(std::size_t region, Duration deadline) const {
  const auto answer = cli::AdminClient(config_.servers[region].admin, token_).get("/api/v1/status", deadline);
  if (!answer || answer->status != 200) return std::nullopt;
  Result<cli::ServerView> view = cli::parse_server_view(answer->body);
  if (!view) return std::nullopt;
  return std::move(*view);
}

std::string ChaosCluster::get(std::size_t region, const std::string& target) const {
  const auto answer = cli::AdminClient(config_.servers[region].admin, token_).get(target, kAnswerDeadline);
  return answer && answer->status / 100 == 2 ? answer->body : "";
}

bool ChaosCluster::post(std::size_t region, const std::string& target, const std::string& json) const {
  const auto answer = cli::AdminClient(config_.servers[region].admin, token_).post(target, json, kAnswerDeadline);
  return answer && answer->status / 100 == 2;
}

Result<cli::OfflineReport> ChaosCluster::audit() const {
  std::set<cli::ShardPush> acknowledged;
  for (const std::filesystem::path& file : acknowledgement_files_) {
    if (!std::filesystem::exists(file)) continue;  // killed before it could make one
    if (Result<void> read = cli::read_acknowledgements(file, acknowledged); !read) return read.error();
  }
  std::vector<cli::ReplicaAudit> replicas;
  for (std::size_t region = 0; region < regions(); ++region) {
    cli::ReplicaAudit& replica = replicas.emplace_back(config_.regions[region]);
    const auto store = folder_of(region) / "data" / config_.servers[region].name;
    if (Result<void> read = cli::read_store(store, replica); !read) return read.error();
  }
  return cli::audit(replicas, config_.run.shards, acknowledged);
}

Result<history::Report> ChaosCluster::judge_histories() const {
  history::Recording recording;
  for (std::size_t region = 0; region < regions(); ++region) {
    if (const std::string wrong = recording.add_file(history_of(region).string()); !wrong.empty()) {
      return Error{Errc::kMalformed, wrong};
    }
  }
  return history::check(recording);
}

std::string ChaosCluster::logs() const {
  std::string text;
  for (const std::string& region : config_.regions) {
    for (const std::string& process : {region, worker_certificate(region, kWorker)}) {
      text += "---- " + process + "\n" + cli::last_lines(log_of(process), kLogLines) + "\n";
    }
  }
  return text;
}

}  // namespace godwit::bench
