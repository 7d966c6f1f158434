// RegionServer as AdminService: answers for the admin port, made on the core's strand.
#include <algorithm>
#include <boost/asio/post.hpp>

#include "server/app/model_file.h"
#include "server/app/region_server.h"

namespace godwit::app {
namespace {

std::string_view ack_name(AckClass ack) { return name(static_cast<Acknowledgement>(ack)); }

std::string_view optimizer_name(Outer outer) {
  switch (outer) {
    case Outer::kNone:
      return "none";
    case Outer::kSgd:
      return "sgd";
    case Outer::kNesterov:
      return "nesterov";
  }
  return "none";
}

http::ShardReport report_shard(const ShardStatus& status, const ClusterConfig& config) {
  http::ShardReport report;
  report.shard = status.shard;
  report.leads = status.leads;
  report.leader_region = config.regions[status.leader.value()];
  for (const auto& [region, incarnation] : status.in_sync)
    report.in_sync.push_back(config.regions[region.value()]);
  report.version = status.version;
  report.watermark = status.watermark;
  report.epoch = status.epoch;
  report.round = status.round;
  report.mode = status.mode;
  report.mode_epoch = status.mode_epoch;
  report.optimizer = optimizer_name(status.outer);
  report.parameters = status.parameters;
  report.tokens = status.tokens;
  report.restore_epoch = status.restore_epoch;
  report.outbox_items = status.outbox_items;
  report.workers = status.workers;
  report.waiting_for = status.waiting_for;
  return report;
}

}  // namespace

void RegionServer::ping(std::function<void()> done) {
  shell_->inspect([done = std::move(done)](const RegionCore*) { done(); });
}

std::vector<http::ReadinessCheck> RegionServer::readiness(bool core_open) const {
  std::vector<http::ReadinessCheck> checks;
  std::lock_guard lock(state_mutex_);
  checks.push_back({"store", !failure_, failure_ ? failure_->to_string() : ""});
  checks.push_back({"data-listener", true, ""});
  const bool waits_for_model = waits_for_ == "a worker to offer the model";
  const bool control = waits_for_.empty() || waits_for_model;
  checks.push_back({"control", control, control ? "" : "waits for " + waits_for_});
  // A fresh run has no shards until its first worker brings the model; the server is ready for that
  // worker.
  const bool loaded = core_open || waits_for_model;
  checks.push_back({"shards-loaded", loaded, loaded ? "" : "waits for " + waits_for_});
  return checks;
}

http::StatusReport RegionServer::report(const RegionCore* core) const {
  http::StatusReport report;
  report.cluster = config_.name;
  report.server = own_.name;
  report.region = own_.region;
  report.hosts_control = embedded_control_ != nullptr;
  report.version = GODWIT_VERSION;
  report.up_seconds = to_seconds(net::now() - started_at_);
  report.ack = ack_name(settings_.ack);
  report.checks = readiness(core != nullptr);
  {
    std::lock_guard lock(state_mutex_);
    report.mode = shown_mode_.mode;
    report.mode_epoch = shown_mode_.mode_epoch;
    report.sync_steps = shown_mode_.sync_steps;
    report.manifest_hash = manifest_hash_;
  }
  for (std::uint32_t id = 0; core != nullptr && id < core->shard_count(); ++id) {
    report.shards.push_back(report_shard(core->shard(ShardId(id)).status(), config_));
  }
  for (const WorkerSessions::Present& worker : workers_->present()) {
    report.workers.push_back({worker.name, worker.active ? "active" : "joining"});
  }
  for (const PeerReport& peer : links_->report()) {
    report.links.push_back({config_.regions[peer.region.value()],
                            peer.up,
                            to_seconds(peer.round_trip_time),
                            {{"delta", peer.sent_bytes, peer.received_bytes}}});
  }
  return report;
}

asio::awaitable<void> RegionServer::measure() {
  for (;;) {
    shell_->inspect([this](const RegionCore* core) { measure_now(core); });
    const Result<void> slept = co_await net::sleep_for(seconds(1));
    if (!slept) co_return;
  }
}

void RegionServer::measure_now(const RegionCore* core) {
  const http::StatusReport now = report(core);
  const bool first = core != nullptr && core->shard(ShardId()).leads();
  settled_as_leader_ = first ? core->shard(ShardId()).watermark() : Version();
  for (const http::ReadinessCheck& check : now.checks) registry_.set_ready(check.name, check.ok);
  for (const http::ShardReport& shard : now.shards) {
    registry_.set_shard(shard.shard, shard.version, shard.parameters, shard.leads);
  }
  const auto active =
      std::count_if(now.workers.begin(), now.workers.end(),
                    [](const http::WorkerReport& worker) { return worker.state == "active"; });
  registry_.set_workers("active", static_cast<std::uint64_t>(active));
  registry_.set_workers("joining", now.workers.size() - static_cast<std::size_t>(active));
  for (const http::LinkReport& link : now.links) {
    registry_.set_link_up(link.region, link.up);
    for (const http::TrafficReport& traffic : link.traffic) {
      registry_.set_link_bytes(link.region, traffic.traffic_class, traffic.sent_bytes,
                               traffic.received_bytes);
    }
    if (link.up && link.rtt_seconds > 0) {
      registry_.link_rtt(link.region, std::chrono::duration_cast<Duration>(
                                          std::chrono::duration<double>(link.rtt_seconds)));
    }
  }
}

void RegionServer::status(Callback<http::StatusReport> done) {
  shell_->inspect([this, done = std::move(done)](const RegionCore* core) { done(report(core)); });
}

void RegionServer::block_hashes(ShardId shard, std::optional<Version> version,
                                Callback<Result<http::BlockHashesReport>> done) {
  shell_->inspect([shard, version, done = std::move(done)](const RegionCore* core) {
    if (core == nullptr || shard.value() >= core->shard_count()) {
      return done(Error{Errc::kNotFound, "no shard " + to_string(shard) + " is loaded here"});
    }
    const ShardCore& replica = core->shard(shard);
    const Version at = version.value_or(replica.state().version());
    Result<ShardCore::Hashes> hashes = replica.hashes(at);
    if (!hashes) return done(hashes.error());
    done(http::BlockHashesReport{shard, at, hashes->entry, std::move(hashes->blocks)});
  });
}

void RegionServer::model(http::ModelRequest request, Callback<Result<SharedBytes>> done) {
  if (request.version) return past_model(std::vector<Version>(config_.run.shards, *request.version), std::move(done));
  if (request.checkpoint) {
    const CheckpointList list = known_checkpoints();
    const Checkpoint* const checkpoint = list.find(*request.checkpoint);
    if (checkpoint == nullptr)
      return done(Error{Errc::kNotFound, "there is no checkpoint " + std::to_string(*request.checkpoint)});
    std::vector<Version> versions;
    for (const records::Pin& pin : checkpoint->shards) versions.push_back(pin.version);
    return past_model(std::move(versions), std::move(done));
  }
  // The manifest is read on its strand, the model on the core's.
  asio::post(strand_, [this, done = std::move(done)]() mutable {
    if (!manifest_) return done(Error{Errc::kUnavailable, "no worker has offered a model yet"});
    shell_->inspect([manifest = *manifest_, done = std::move(done)](const RegionCore* core) {
      if (core == nullptr) return done(Error{Errc::kUnavailable, "the shards are not loaded yet"});
      for (std::uint32_t id = 0; id < core->shard_count(); ++id) {
        if (core->shard(ShardId(id)).state().version() == Version()) {
          return done(
              Error{Errc::kUnavailable, "shard " + std::to_string(id) + " has no version yet"});
        }
      }
      ModelFile file(manifest, core->layout());
      for (std::uint32_t id = 0; id < core->shard_count(); ++id) file.add(core->shard(ShardId(id)).state());
      done(share(file.encode()));
    });
  });
}

void RegionServer::set_mode(http::ModeRequest request, Callback<Result<http::ModeReport>> done) {
  group_->spawn(strand_, change_mode_now(request, std::move(done)));
}

asio::awaitable<void> RegionServer::change_mode_now(http::ModeRequest request,
                                                    Callback<Result<http::ModeReport>> done) {
  const Result<ModeSetting> setting = co_await app::change_mode(
      *control_, request.mode, request.sync_steps, config_.run.sync_steps);
  if (setting) {
    done(http::ModeReport{setting->mode, setting->mode_epoch, setting->sync_steps});
  } else {
    done(setting.error());
  }
}

std::string RegionServer::all_regions() const {
  std::string all;
  for (const std::string& region : config_.regions) all += (all.empty() ? "" : ", ") + region;
  return all;
}

void RegionServer::promote(http::PromoteRequest request,
                           Callback<Result<http::PromoteReport>> done) {
  group_->spawn(strand_, promote_now(std::move(request), std::move(done)));
}

asio::awaitable<void> RegionServer::promote_now(http::PromoteRequest request,
                                                Callback<Result<http::PromoteReport>> done) {
  const auto found = std::find(config_.regions.begin(), config_.regions.end(), request.region);
  if (found == config_.regions.end())
    co_return done(Error{Errc::kInvalid, "no region is called '" + request.region + "'; use one of " + all_regions()});
  if (request.shard.value() >= config_.run.shards) {
    co_return done(
        Error{Errc::kInvalid, "the run has shards 0 to " + std::to_string(config_.run.shards - 1)});
  }
  const RegionId next(static_cast<std::uint32_t>(found - config_.regions.begin()));
  const Result<ShardRecord> record = co_await hand_over(*control_, request.shard, next);
  if (!record) {
    co_return done(Error{record.error().code, "shard " + to_string(request.shard) + ", region '" + request.region +
                                                  "': " + record.error().context});
  }
  done(http::PromoteReport{request.shard, request.region, record->epoch});
}

void RegionServer::stop_workers(Callback<Result<void>> done) {
  workers_->send_all(Stop{"an operator stopped the workers"});
  done(Result<void>());
}

}  // namespace godwit::app
