// RegionServer: one godwit-server process. It wires the store, the region's core, the links to other regions,
// the workers' sessions, the control store and the admin port, and starts and stops them in order.
//
// Start: store -> listener and links -> control store -> manifest -> leader epochs -> core. Until the core is
// open, events for it wait; /readyz says what is missing.
#pragma once

#include <atomic>
#include <boost/asio/io_context.hpp>
#include <memory>
#include <set>
#include <thread>

#include "server/app/control_access.h"
#include "server/app/peer_links.h"
#include "server/app/region_shell.h"
#include "server/app/remote_control_store.h"
#include "server/app/worker_sessions.h"
#include "server/control/embedded_control_store.h"
#include "server/http/admin_service.h"
#include "server/storage/rocksdb_store.h"
#include "shared/metrics/registry.h"
#include "shared/net/listener.h"

namespace godwit::app {

class RegionServer final : public http::AdminService {
 public:
  // Opens the store and the data port. Errors: kConfig, kIo, kUnavailable (the store is in use), kCorrupt.
  static Result<std::unique_ptr<RegionServer>> start(ClusterConfig config, const std::string& name,
                                                     metrics::Registry& registry);
  ~RegionServer() override;
  RegionServer(const RegionServer&) = delete;
  RegionServer& operator=(const RegionServer&) = delete;

  // Blocks until stop() is called or the process can no longer acknowledge; the reason in the latter case.
  Result<void> run();
  // Any thread, also from a signal handler's thread.
  void stop();
  std::uint16_t data_port() const { return listener_->port(); }

  void ping(std::function<void()> done) override;
  void status(Callback<http::StatusReport> done) override;
  void block_hashes(ShardId shard, std::optional<Version> version,
                    Callback<Result<http::BlockHashesReport>> done) override;
  void rebuilt_hashes(ShardId shard, Version version, Callback<Result<http::BlockHashesReport>> done) override;
  void model(http::ModelRequest request, Callback<Result<SharedBytes>> done) override;
  void checkpoints(Callback<Result<http::CheckpointsReport>> done) override;
  void create_checkpoint(std::string reason, Callback<Result<http::CheckpointReport>> done) override;
  void pin_checkpoint(std::uint64_t id, bool pinned, Callback<Result<http::CheckpointReport>> done) override;
  void remove_checkpoint(std::uint64_t id, Callback<Result<http::CheckpointReport>> done) override;
  void restore_checkpoint(std::uint64_t id, Callback<Result<http::RestoreReport>> done) override;
  void promote(http::PromoteRequest request, Callback<Result<http::PromoteReport>> done) override;
  void set_mode(http::ModeRequest request, Callback<Result<http::ModeReport>> done) override;
  void stop_workers(Callback<Result<void>> done) override;

 private:
  RegionServer(ClusterConfig config, const ServerConfig& own, metrics::Registry& registry);
  Result<void> open_store();
  Result<void> open_network();
  PeerHandlers peer_handlers();
  net::ListenHandlers listen_handlers();

  // boot.cpp: from a store to an open core.
  asio::awaitable<void> boot();
  asio::awaitable<std::optional<Manifest>> await_manifest();
  asio::awaitable<std::unique_ptr<RegionCore>> open_core(const Manifest& manifest, Incarnation incarnation);
  asio::awaitable<bool> take_epochs(RegionCore::Place& place);
  asio::awaitable<Result<void>> try_epochs(RegionCore::Place& place);
  enum class Renewal : std::uint8_t { kDone, kAlone, kStops };
  asio::awaitable<Renewal> renew(const RegionCore::Place& place);
  asio::awaitable<Result<std::vector<Epoch>>> leave_sets(const RegionCore::Place& place);
  Result<void> drop_replicas(const std::vector<Epoch>& epochs, Incarnation next);
  // A file that says that damage was found. Beside the store, which may refuse writes then; the next start reads it.
  std::filesystem::path damage_mark() const;
  void mark_damaged(const Error& why) const;
  asio::awaitable<void> follow_control();
  void tell(const ControlReply& reply);
  asio::awaitable<void> tick_control();
  asio::awaitable<void> measure();
  Result<Incarnation> read_incarnation();
  Result<std::optional<Manifest>> read_stored_manifest() const;
  Result<void> learn_manifest(const Manifest& manifest);
  void waits_for(std::string what);

  std::optional<RegionId> other_region(const net::Identity& peer) const;
  asio::awaitable<void> serve(std::shared_ptr<net::Connection> connection);
  asio::awaitable<Result<Manifest>> agree_on_manifest(Manifest offered);
  asio::awaitable<std::optional<Result<Manifest>>> agree_on_strand(Manifest offered);
  void on_peer_message(RegionId from, net::Incoming incoming);
  void send_to_region(RegionId region, const Message& message);
  void on_notice(const Notice& notice);
  void fail(const Error& why, const std::string& fix = "");
  void fail_disk(const Error& why);
  std::string advice(Errc code) const;
  asio::awaitable<void> shut_down();
  wire::Welcome welcome() const;
  std::vector<http::ReadinessCheck> readiness(bool core_open) const;
  http::StatusReport report(const RegionCore* core) const;
  void measure_now(const RegionCore* core);
  std::string all_regions() const;
  asio::awaitable<void> promote_now(http::PromoteRequest request,
                                    Callback<Result<http::PromoteReport>> done);
  asio::awaitable<void> change_mode_now(http::ModeRequest request, Callback<Result<http::ModeReport>> done);

  // checkpoints.cpp
  void with_store(std::function<void(const Result<Manifest>&)> use);
  void past_model(std::vector<Version> versions, Callback<Result<SharedBytes>> done);
  CheckpointList known_checkpoints() const;
  asio::awaitable<Result<std::vector<records::Pin>>> settled();
  asio::awaitable<Result<Checkpoint>> make_checkpoint(std::string reason, bool automatic);
  asio::awaitable<void> restore_checkpoint_now(std::uint64_t id, Callback<Result<http::RestoreReport>> done);
  asio::awaitable<void> keep_checkpoints();

  RegionId self() const { return own_.region_id; }

  ClusterConfig config_;
  const ServerConfig own_;
  RunSettings settings_;
  metrics::Registry& registry_;
  TimePoint started_at_;
  asio::io_context io_;
  asio::strand<asio::any_io_executor> strand_;  // of boot, control, and everything that is not a link's
  std::unique_ptr<RocksDbStore> store_;
  std::unique_ptr<EmbeddedControlStore> embedded_control_;  // on the control host
  std::unique_ptr<RemoteControlStore> remote_control_;      // elsewhere
  ControlStore* control_ = nullptr;                         // one of the two
  std::unique_ptr<net::TaskGroup> group_;
  std::unique_ptr<RegionShell> shell_;
  std::unique_ptr<PeerLinks> links_;
  std::unique_ptr<WorkerSessions> workers_;
  std::unique_ptr<net::Listener> listener_;
  net::Event manifest_known_;             // on strand_
  std::optional<Manifest> manifest_;      // on strand_
  bool recovered_ = false;                // on strand_: the store is as it is going to be
  std::atomic<Version> settled_as_leader_{};  // of shard 0; 0: another region leads it
  mutable std::mutex state_mutex_;        // guards the six below
  std::string waits_for_ = "the control store";
  ModeSetting shown_mode_;
  std::string manifest_hash_;
  CheckpointList checkpoints_;
  Revision checkpoints_revision_;
  std::optional<Error> failure_;
};

}  // namespace godwit::app
