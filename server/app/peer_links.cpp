#include "server/app/peer_links.h"

#include <algorithm>

#include <boost/asio/strand.hpp>

#include "server/app/permissions.h"
#include "shared/base/log.h"

namespace godwit::app {
namespace {

constexpr Duration kDialDeadline = seconds(5);
constexpr Duration kBackOffFirst = milliseconds(100);
constexpr Duration kBackOffLast = milliseconds(500);
// Contributions and updates that wait for the wire. Leaders pace themselves by what has drained, so this is
// reached only by a peer that never reads: its link is closed and it starts over.
constexpr std::size_t kPeerQueueBytes = 512U << 20;

}  // namespace

PeerLinks::PeerLinks(net::TaskGroup& group, asio::any_io_executor executor, net::TlsContext client_context,
                     const ClusterConfig& config, RegionId self, PeerHandlers handlers)
    : group_(group),
      executor_(std::move(executor)),
      context_(std::move(client_context)),
      config_(config),
      self_(self),
      handlers_(std::move(handlers)) {
  const net::Identity& own = context_.own_identity();
  hello_ = {wire::kConversationVersion, own.cluster, std::string(net::name(own.role)), own.region, own.name, Hash()};
  for (std::uint32_t id = 0; id < config.regions.size(); ++id) {
    if (RegionId(id) == self) continue;
    Peer& peer = peers_[RegionId(id)];
    if (config.link.delay > Duration::zero() || config.link.bits_per_second > 0) {
      peer.shaper = std::make_shared<net::Shaper>(net::LinkShape{config.link.delay, config.link.bits_per_second});
    }
  }
}

void PeerLinks::start() {
  for (const auto& [region, peer] : peers_) {
    if (self_ < region) group_.spawn(asio::make_strand(executor_), dial_forever(region));
  }
}

net::ConnectionOptions PeerLinks::connection_options(RegionId region) const {
  net::ConnectionOptions options;
  options.send_queue_bytes = kPeerQueueBytes;
  options.congestion_control = "bbr";
  std::lock_guard lock(mutex_);
  options.shaper = peers_.at(region).shaper;
  return options;
}

void PeerLinks::set_max_message_bytes(std::uint64_t bytes) {
  std::lock_guard lock(mutex_);
  max_message_bytes_ = bytes;
  for (auto& [region, peer] : peers_) {
    if (peer.stream) peer.stream->set_max_message_bytes(bytes);
  }
}

asio::awaitable<void> PeerLinks::dial_forever(RegionId region) {
  const ServerConfig& server = config_.server_of(region);
  Duration back_off = kBackOffFirst;
  std::string last_error;
  for (;;) {
    net::DialTarget target{server.data.host, server.data.port, {config_.name, server.region, net::Role::kServer}};
    net::ConnectionOptions options = connection_options(region);
    Bytes hello = wire::encode(hello_);
    Result<net::Dialed> dialed = co_await net::dial(group_, context_, std::move(target), std::move(hello),
                                                    std::move(options), net::now() + kDialDeadline);
    if (dialed) {
      back_off = kBackOffFirst;
      last_error.clear();
      co_await serve(region, std::move(dialed->connection));
    } else if (std::string error = dialed.error().to_string(); error != last_error) {
      log::warning("link", "to " + server.region + ": " + error);
      last_error = std::move(error);
    }
    // A dial that fails with kClosed may only mean that the peer went in the middle of it; this tells the two apart.
    const Result<void> slept = co_await net::sleep_for(back_off);
    if (!slept) co_return;  // the process stops
    back_off = std::min(back_off * 2, kBackOffLast);
  }
}

asio::awaitable<void> PeerLinks::serve(RegionId from, std::shared_ptr<net::Connection> connection) {
  auto stream = std::make_shared<net::MessageStream>(std::move(connection));
  attach(from, stream);
  co_await converse(from, stream);
  detach(from, stream);
}

asio::awaitable<void> PeerLinks::converse(RegionId region, std::shared_ptr<net::MessageStream> stream) {
  for (;;) {
    Result<net::Incoming> message = co_await stream->receive();
    if (!message) {
      log::info("link", "to " + config_.regions[region.value()] + " ended: " + message.error().to_string());
      co_return;
    }
    if (const Result<void> allowed = may_send(region, *message, Standpoint{config_, self_}); !allowed) {
      stream->connection().close(allowed.error());
      continue;  // the next receive gives the end
    }
    handlers_.message(region, std::move(*message));
  }
}

void PeerLinks::attach(RegionId region, const std::shared_ptr<net::MessageStream>& stream) {
  std::shared_ptr<net::MessageStream> old;
  {
    std::lock_guard lock(mutex_);
    Peer& peer = peers_.at(region);
    stream->set_max_message_bytes(max_message_bytes_);
    old = std::exchange(peer.stream, stream);
    ++peer.connections;
  }
  if (old) {
    // Often the same process, whose link broke on its side only. A twin hears why it flaps; to stop for it would be to
    // stop at another region's word.
    old->connection().close(
        Error{Errc::kConflict, "a newer connection of the server of region '" + config_.regions[region.value()] +
                                   "' took this one's place: if that repeats, two processes run with its certificate"});
    handlers_.disconnected(region);
  }
  log::info("link", "to " + config_.regions[region.value()] + " is up");
  handlers_.connected(region);
}

void PeerLinks::detach(RegionId region, const std::shared_ptr<net::MessageStream>& stream) {
  const net::ConnectionCounters counters = stream->connection().counters();
  {
    std::lock_guard lock(mutex_);
    Peer& peer = peers_.at(region);
    peer.sent_before += counters.bytes_sent;
    peer.received_before += counters.bytes_received;
    if (peer.stream != stream) return;  // replaced: that was told already
    peer.stream.reset();
  }
  handlers_.disconnected(region);
}

std::shared_ptr<net::MessageStream> PeerLinks::find(RegionId region) const {
  std::lock_guard lock(mutex_);
  return peers_.at(region).stream;
}

bool PeerLinks::settle(net::MessageStream& stream, const Result<void>& sent) {
  if (!sent && sent.error().code == Errc::kOverloaded) {
    stream.connection().close(Error{Errc::kOverloaded, "the peer does not read: its queue is full"});
  }
  return sent.has_value();
}

bool PeerLinks::send(RegionId region, const Message& message, net::OnWritten on_written) {
  const std::shared_ptr<net::MessageStream> stream = find(region);
  return stream && settle(*stream, stream->send(message, std::move(on_written)));
}

bool PeerLinks::send(RegionId region, const wire::ControlCall& call) {
  const std::shared_ptr<net::MessageStream> stream = find(region);
  return stream && settle(*stream, stream->send(call));
}

bool PeerLinks::send(RegionId region, const wire::ControlAnswer& answer) {
  const std::shared_ptr<net::MessageStream> stream = find(region);
  return stream && settle(*stream, stream->send(answer));
}

std::vector<PeerReport> PeerLinks::report() const {
  std::vector<PeerReport> reports;
  std::lock_guard lock(mutex_);
  for (const auto& [region, peer] : peers_) {
    PeerReport& report = reports.emplace_back();
    report.region = region;
    report.up = peer.stream != nullptr;
    report.sent_bytes = peer.sent_before;
    report.received_bytes = peer.received_before;
    report.reconnects = peer.connections > 0 ? peer.connections - 1 : 0;
    if (!peer.stream) continue;
    const net::ConnectionCounters counters = peer.stream->connection().counters();
    report.sent_bytes += counters.bytes_sent;
    report.received_bytes += counters.bytes_received;
    report.round_trip_time = peer.stream->connection().round_trip_time();
  }
  return reports;
}

}  // namespace godwit::app
