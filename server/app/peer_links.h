// PeerLinks: one TLS connection to every other region (the region with the lower id dials, both talk). A link
// that breaks is dialled again with back-off; a new connection replaces an old one. Messages to a region that
// is away are dropped: cores start over when it connects.
//
// Any thread. Handlers are called from the links' own strands, in order per region.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <mutex>

#include "shared/net/cluster_config.h"
#include "shared/net/dialer.h"
#include "shared/net/event.h"
#include "shared/net/message_stream.h"
#include "shared/net/task_group.h"

namespace godwit::app {

namespace asio = boost::asio;

struct PeerHandlers {
  std::function<void(RegionId)> connected;
  std::function<void(RegionId)> disconnected;
  std::function<void(RegionId, net::Incoming)> message;
};

struct PeerReport {
  RegionId region;
  bool up = false;
  Duration round_trip_time{};
  std::uint64_t sent_bytes = 0;      // since the process started, all connections
  std::uint64_t received_bytes = 0;
  std::uint64_t reconnects = 0;
};

class PeerLinks {
 public:
  PeerLinks(net::TaskGroup& group, asio::any_io_executor executor, net::TlsContext client_context,
            const ClusterConfig& config, RegionId self, PeerHandlers handlers);
  void start();
  // An accepted and welcomed connection of another region's server; returns when it ends.
  asio::awaitable<void> serve(RegionId from, std::shared_ptr<net::Connection> connection);
  // False: the region is away, nothing was sent. `on_written`: the message has left for the wire.
  bool send(RegionId region, const Message& message, net::OnWritten on_written = nullptr);
  bool send(RegionId region, const wire::ControlCall& call);
  bool send(RegionId region, const wire::ControlAnswer& answer);
  // What every connection to another region is made with (the shaper of the link, its queue bound).
  net::ConnectionOptions connection_options(RegionId region) const;
  // The largest message that the model makes possible; none before the model is known.
  void set_max_message_bytes(std::uint64_t bytes);
  std::vector<PeerReport> report() const;

 private:
  struct Peer {
    std::shared_ptr<net::MessageStream> stream;  // null: away
    std::shared_ptr<net::Shaper> shaper;
    std::uint64_t sent_before = 0, received_before = 0;  // by connections that have ended
    std::uint64_t connections = 0;
  };
  asio::awaitable<void> dial_forever(RegionId region);
  asio::awaitable<void> converse(RegionId region, std::shared_ptr<net::MessageStream> stream);
  std::shared_ptr<net::MessageStream> find(RegionId region) const;
  static bool settle(net::MessageStream& stream, const Result<void>& sent);
  void attach(RegionId region, const std::shared_ptr<net::MessageStream>& stream);
  void detach(RegionId region, const std::shared_ptr<net::MessageStream>& stream);

  net::TaskGroup& group_;
  asio::any_io_executor executor_;
  net::TlsContext context_;
  const ClusterConfig& config_;
  RegionId self_;
  wire::Hello hello_;
  PeerHandlers handlers_;
  mutable std::mutex mutex_;  // guards the two below
  std::map<RegionId, Peer> peers_;
  std::uint64_t max_message_bytes_ = wire::kMaxMessageBytesBeforeManifest;
};

}  // namespace godwit::app
