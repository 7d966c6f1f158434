#include "server/app/region_server.h"

#include <algorithm>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <filesystem>
#include <fstream>

#include "server/app/permissions.h"
#include "server/app/run_settings.h"
#include "shared/base/check.h"
#include "shared/base/log.h"

namespace godwit::app {
namespace {

// TLS of several connections side by side; the core has one strand. A thread more than there are processors
// only moves strands from cache to cache.
unsigned thread_count() { return std::clamp(std::thread::hardware_concurrency(), 2U, 3U); }

constexpr Duration kHelloDeadline = seconds(5);
// Entries and snapshots that a worker has asked for; one that does not read them is cut off.
constexpr std::size_t kWorkerQueueBytes = 512U << 20;

Result<void> greet(const net::Identity& peer, const net::Frame& first) {
  if (first.kind != MessageKind::kHello) {
    return Error{Errc::kMalformed, "a conversation starts with HELLO"};
  }
  const Result<wire::Hello> hello = wire::decode_hello(first.control);
  return hello ? may_greet(peer, *hello) : Result<void>(hello.error());
}

}  // namespace

Result<std::unique_ptr<RegionServer>> RegionServer::start(ClusterConfig config,
                                                          const std::string& name,
                                                          metrics::Registry& registry) {
  const ServerConfig* own = config.find_server(name);
  if (own == nullptr) {
    return Error{Errc::kConfig, "no server is called '" + name +
                                    "' in cluster.toml: add a [[server]] or fix --name"};
  }
  const ServerConfig copy = *own;
  std::unique_ptr<RegionServer> server(new RegionServer(std::move(config), copy, registry));
  if (Result<void> opened = server->open_store(); !opened) return opened.error();
  if (Result<void> opened = server->open_network(); !opened) return opened.error();
  return server;
}

RegionServer::RegionServer(ClusterConfig config, const ServerConfig& own,
                           metrics::Registry& registry)
    : config_(std::move(config)),
      own_(own),
      settings_(run_settings(config_)),
      registry_(registry),
      started_at_(net::now()),
      strand_(io_.get_executor()),
      manifest_known_(strand_) {
  shown_mode_.sync_steps = config_.run.sync_steps;
}

RegionServer::~RegionServer() = default;

Result<void> RegionServer::open_store() {
  RocksDbOptions options;
  options.compact = !std::filesystem::exists(damage_mark());
  options.on_log_sync = [this](Duration duration) { registry_.log_sync(duration); };
  // Also when nobody writes. Posted, since RocksDB's threads outlive most of this.
  options.on_failure = [this](const Error& why) {
    boost::asio::post(strand_, [this, why] { fail_disk(why); });
  };
  std::error_code ignored;
  const std::filesystem::path directory = config_.data_directory(own_.name);
  std::filesystem::create_directories(directory.parent_path(),
                                      ignored);  // open() names what is wrong
  Result<std::unique_ptr<RocksDbStore>> store = RocksDbStore::open(directory, options);
  if (!store) return store.error();
  store_ = std::move(*store);
  if (own_.name != config_.control) {
    remote_control_ = std::make_unique<RemoteControlStore>([this](const wire::ControlCall& call) {
      return links_->send(config_.control_server().region_id, call);
    });
    control_ = remote_control_.get();
    return {};
  }
  Result<std::unique_ptr<EmbeddedControlStore>> control =
      EmbeddedControlStore::open(*store_, net::now);
  if (!control) return control.error();
  embedded_control_ = std::move(*control);
  control_ = embedded_control_.get();
  return {};
}

Result<void> RegionServer::open_network() {
  const Result<net::TlsOptions> tls = net::load_tls_options(
      config_.authority_file(), config_.certificate_file(own_.name), config_.key_file(own_.name));
  if (!tls) return tls.error();
  Result<net::TlsContext> client = net::TlsContext::create(net::TlsSide::kClient, *tls);
  Result<net::TlsContext> server = net::TlsContext::create(net::TlsSide::kServer, *tls);
  if (!client) return client.error();
  if (!server) return server.error();

  group_ = std::make_unique<net::TaskGroup>(strand_);
  Outlets outlets;
  outlets.to_region = [this](RegionId region, const Message& message) {
    send_to_region(region, message);
  };
  outlets.to_worker = [this](WorkerId worker, const Message& message) {
    workers_->send(worker, message);
  };
  outlets.to_control = [this](ControlRequest request) {
    control_->request(std::move(request), [this](const ControlReply& reply) { tell(reply); });
  };
  outlets.notice = [this](const Notice& notice) { on_notice(notice); };
  outlets.failed = [this](const Error& why) { fail_disk(why); };
  shell_ = std::make_unique<RegionShell>(io_.get_executor(), *store_, self(), std::move(outlets));

  links_ = std::make_unique<PeerLinks>(*group_, io_.get_executor(), *client, config_, self(),
                                       peer_handlers());

  WorkerHandlers workers;
  workers.message = [this](WorkerId from, Message message) {
    shell_->post_message(from, std::move(message));
  };
  workers.left = [this](WorkerId worker) {
    shell_->post(
        [worker](RegionCore& core, TimePoint now) { return core.on_worker_left(worker, now); });
  };
  workers.agree_on_manifest = [this](Manifest offered) {
    return agree_on_manifest(std::move(offered));
  };
  workers_ = std::make_unique<WorkerSessions>(std::move(workers));

  net::ListenOptions listen;
  listen.host = own_.data.host;
  listen.port = own_.data.port;
  auto listener =
      net::Listener::start(*group_, io_.get_executor(), *server, listen, listen_handlers());
  if (!listener) return listener.error();
  listener_ = std::move(*listener);
  return {};
}

PeerHandlers RegionServer::peer_handlers() {
  PeerHandlers peers;
  peers.connected = [this](RegionId region) {
    shell_->post([region](RegionCore& core, TimePoint now) {
      return core.on_region_connected(region, now);
    });
  };
  peers.disconnected = [this](RegionId region) {
    if (remote_control_ && region == config_.control_server().region_id)
      remote_control_->on_disconnected();
    shell_->post([region](RegionCore& core, TimePoint now) {
      return core.on_region_disconnected(region, now);
    });
  };
  peers.message = [this](RegionId from, net::Incoming message) {
    on_peer_message(from, std::move(message));
  };
  return peers;
}

net::ListenHandlers RegionServer::listen_handlers() {
  net::ListenHandlers handlers;
  handlers.admit = [this](const net::Identity& peer) {
    return may_converse(peer, {config_, self()});
  };
  handlers.options = [this](const net::Identity& peer) {
    const std::optional<RegionId> region = other_region(peer);
    net::ConnectionOptions options =
        region ? links_->connection_options(*region) : net::ConnectionOptions();
    if (!region) options.send_queue_bytes = kWorkerQueueBytes;
    return options;
  };
  handlers.session = [this](std::shared_ptr<net::Connection> connection) {
    return serve(std::move(connection));
  };
  handlers.on_refused = [this](const std::string& address, const Error& why) {
    registry_.auth_failure(name(why.code));
    log::warning("listener", "refused " + address + ": " + why.to_string());
  };
  return handlers;
}

Result<void> RegionServer::run() {
  links_->start();
  if (embedded_control_) group_->spawn(strand_, tick_control());
  group_->spawn(strand_, boot());
  group_->spawn(strand_, measure());
  std::vector<std::jthread> threads;
  for (unsigned i = 1; i < thread_count(); ++i) threads.emplace_back([this] { io_.run(); });
  io_.run();
  threads.clear();
  std::lock_guard lock(state_mutex_);
  return failure_ ? Result<void>(*failure_) : Result<void>();
}

void RegionServer::stop() {
  boost::asio::co_spawn(strand_, shut_down(), [](const std::exception_ptr&) {});
}

asio::awaitable<void> RegionServer::shut_down() {
  listener_->close();
  if (embedded_control_) embedded_control_->stop();
  shell_->stop();
  co_await group_->stop();
  io_.stop();
}

void RegionServer::fail(const Error& why, const std::string& fix) {
  {
    std::lock_guard lock(state_mutex_);
    if (failure_) return;
    failure_ = why;
  }
  log::error("server", "stops, nothing more is acknowledged: " + why.to_string() + fix);
  stop();
}

void RegionServer::fail_disk(const Error& why) {
  if (why.code != Errc::kCorrupt) return fail(why);
  mark_damaged(why);
  fail(why, "; start it again: it reloads from the other regions and keeps what only this one has");
}

// What an operator can do where this process cannot help itself.
std::string RegionServer::advice(Errc code) const {
  const std::string directory = config_.data_directory(own_.name).string();
  switch (code) {
    case Errc::kCorrupt:
      return "; move " + directory +
             " away and start again: it reloads from the other regions, what only this region held is lost";
    case Errc::kConflict:
      return "; put back a copy of " + directory +
             ", or begin a new run with a model that was exported (godwit model import)";
    case Errc::kInternal:
      return "; start the build that wrote it, or make the file " + damage_mark().string() +
             " and start again: it reloads from the other regions and keeps what only this one has";
    default:
      return "";
  }
}

// ---- conversations
// ---------------------------------------------------------------------------------------

wire::Welcome RegionServer::welcome() const {
  wire::Welcome welcome;
  welcome.region = own_.region;
  welcome.region_index = self();
  welcome.region_count = settings_.regions;
  welcome.shard_count = config_.run.shards;
  welcome.lan_codec = config_.run.lan_codec;
  welcome.window_ms = static_cast<std::uint32_t>(
      std::chrono::duration_cast<milliseconds>(settings_.window_max).count());
  welcome.max_local_steps = config_.run.max_local_steps;
  welcome.acknowledgement = name(config_.run.ack);
  welcome.sync_steps = config_.run.sync_steps;
  return welcome;
}

std::optional<RegionId> RegionServer::other_region(const net::Identity& peer) const {
  for (std::uint32_t region = 0; region < config_.regions.size(); ++region) {
    const bool is_it = peer.role == net::Role::kServer && config_.regions[region] == peer.region;
    if (is_it && RegionId(region) != self()) return RegionId(region);
  }
  return std::nullopt;
}

asio::awaitable<void> RegionServer::serve(std::shared_ptr<net::Connection> connection) {
  Result<net::Frame> first = co_await connection->read(net::now() + kHelloDeadline);
  const net::Identity& peer = connection->peer();
  const Result<void> greeted = first ? greet(peer, *first) : Result<void>(first.error());
  if (!greeted) {
    log::warning("listener",
                 "refused " + connection->remote_address() + ": " + greeted.error().to_string());
    co_return connection->close(greeted.error());
  }
  net::Frame reply;
  reply.kind = MessageKind::kWelcome;
  reply.control = wire::encode(welcome());
  if (const Result<void> sent = connection->try_send(std::move(reply)); !sent) co_return;
  if (peer.role == net::Role::kWorker) co_return co_await workers_->serve(std::move(connection));
  const std::optional<RegionId> region = other_region(peer);
  GODWIT_CHECK(region.has_value(), "admit lets in workers and servers of other regions only");
  co_await links_->serve(*region, std::move(connection));
}

asio::awaitable<Result<Manifest>> RegionServer::agree_on_manifest(Manifest offered) {
  // The manifest belongs to strand_; this runs on a session's strand.
  auto work = agree_on_strand(std::move(offered));
  std::optional<Result<Manifest>> agreed =
      co_await asio::co_spawn(strand_, std::move(work), asio::use_awaitable);
  co_return std::move(*agreed);
}

// Optional, since co_spawn wants a result that it can make before there is one.
asio::awaitable<std::optional<Result<Manifest>>> RegionServer::agree_on_strand(Manifest offered) {
  if (!manifest_) {
    offered.shards = config_.run.shards;  // how the model is cut is the cluster's to say
    offered.block_parameters = config_.run.block_parameters;
    if (Result<void> valid = offered.validate(); !valid) co_return Result<Manifest>(valid.error());
    if (Result<void> fits = fits_in_memory(offered, physical_memory_bytes()); !fits)
      co_return Result<Manifest>(fits.error());
    Result<Manifest> agreed = co_await offer_manifest(*control_, std::move(offered));
    if (!agreed) co_return agreed;
    if (const Result<void> learned = learn_manifest(*agreed); !learned)
      co_return Result<Manifest>(learned.error());
  }
  co_return Result<Manifest>(*manifest_);
}

void RegionServer::on_peer_message(RegionId from, net::Incoming incoming) {
  if (auto* call = std::get_if<wire::ControlCall>(&incoming)) {
    if (!embedded_control_) return;
    const std::uint64_t id = call->call;
    embedded_control_->request(std::move(call->request), [this, from, id](ControlReply reply) {
      links_->send(from, wire::ControlAnswer{id, std::move(reply)});
    });
  } else if (auto* answer = std::get_if<wire::ControlAnswer>(&incoming)) {
    if (remote_control_ && from == config_.control_server().region_id)
      remote_control_->on_answer(std::move(*answer));
  } else {
    shell_->post_message(from, std::get<Message>(std::move(incoming)));
  }
}

void RegionServer::send_to_region(RegionId region, const Message& message) {
  net::OnWritten on_written;
  if (const auto* entry = std::get_if<Replicate>(&message)) {
    const ShardId shard = entry->shard;
    const Version version = entry->entry.header.version;
    on_written = [this, region, shard, version] {
      shell_->post([=](RegionCore& core, TimePoint now) {
        return core.on_drained(region, shard, version, now);
      });
    };
  } else if (const auto* install = std::get_if<Install>(&message)) {
    // A reload drains like an entry: the next one waits for it.
    const ShardId shard = install->shard;
    const Result<EntryHeader> header = EntryHeader::decode(view(install->snapshot.entry));
    const Version version = header ? header->version : Version();
    on_written = [this, region, shard, version] {
      shell_->post([=](RegionCore& core, TimePoint now) {
        return core.on_drained(region, shard, version, now);
      });
    };
  }
  links_->send(region, message, std::move(on_written));
}

void RegionServer::on_notice(const Notice& notice) {
  const std::string shard = "shard " + to_string(notice.shard);
  switch (notice.kind) {
    case Notice::Kind::kCommitted:
      registry_.round(metrics::RoundResult::kCommitted);
      return log::debug("shard", shard + " version " +
                                     std::to_string(static_cast<std::uint64_t>(notice.value)) +
                                     ": " + notice.text);
    case Notice::Kind::kApplied:
    case Notice::Kind::kDuplicate:
      return;
    case Notice::Kind::kClipped:
      return registry_.update_clipped(own_.region);
    case Notice::Kind::kOverloaded:
      return log::debug("shard", shard + ": overloaded: " + notice.text);
    case Notice::Kind::kLate:
      return log::info("shard", shard + ": late contribution of " + notice.text);
    case Notice::Kind::kRefused:
      return log::warning("shard", shard + ": refused: " + notice.text);
    case Notice::Kind::kStaleEpoch:
      return log::warning("shard", shard + ": " + notice.text);
    case Notice::Kind::kForked:
      return log::warning("shard", shard + ": " + notice.text);
    case Notice::Kind::kModeChanged:
      return log::info("shard", shard + ": mode " + notice.text);
    case Notice::Kind::kDamaged:
      log::error("shard", shard + ": " + notice.text + "; at its next start this server reloads from the others");
      return mark_damaged({Errc::kCorrupt, notice.text});
    case Notice::Kind::kRestored:
    case Notice::Kind::kPromoted:
    case Notice::Kind::kDeposed:
      return log::warning("shard", shard + ": " + notice.text);
    case Notice::Kind::kInSync:
      return log::info("shard", shard + ": " + std::to_string(static_cast<std::uint64_t>(notice.value)) + " of " +
                                    std::to_string(settings_.regions) + " replicas in sync");
    case Notice::Kind::kSnapshotDone:
      return log::debug("shard", shard + ": snapshot complete");
  }
}

}  // namespace godwit::app
