#include "shared/net/listener.h"

#include <boost/asio/post.hpp>
#include <boost/asio/strand.hpp>
#include <deque>
#include <map>
#include <mutex>
#include <optional>

#include "shared/base/log.h"
#include "shared/net/tcp.h"
#include "shared/net/tls_stream.h"

namespace godwit::net {
namespace {

using asio::ip::tcp;
using boost::system::error_code;

// Pause after accept() failed, for example because file descriptors ran out.
constexpr Duration kAcceptPause = milliseconds(100);

// A connection before its session.
struct HalfOpen {
  asio::any_io_executor strand;
  TlsStream* stream = nullptr;  // on the strand; null when it is a session, or gone
  bool evicted = false;         // on the strand
};

// Those that there are, the longest-waiting first. Any thread.
class WaitingRoom {
 public:
  // The one that has to go for it, when there are `limit` already.
  std::shared_ptr<HalfOpen> enter(std::shared_ptr<HalfOpen> one, std::size_t limit) {
    const std::lock_guard lock(mutex_);
    std::shared_ptr<HalfOpen> oldest;
    if (waiting_.size() >= limit) {
      oldest = std::move(waiting_.front());
      waiting_.pop_front();
    }
    waiting_.push_back(std::move(one));
    return oldest;
  }
  void leave(const std::shared_ptr<HalfOpen>& one) {
    const std::lock_guard lock(mutex_);
    std::erase(waiting_, one);
  }
  std::size_t size() const {
    const std::lock_guard lock(mutex_);
    return waiting_.size();
  }

 private:
  mutable std::mutex mutex_;
  std::deque<std::shared_ptr<HalfOpen>> waiting_;
};

// Sessions, by peer. Any thread.
class SessionCount {
 public:
  // False when the peer has `limit` already.
  bool enter(const std::string& peer, std::size_t limit) {
    const std::lock_guard lock(mutex_);
    std::size_t& of_peer = of_peers_[peer];
    if (of_peer >= limit) return false;
    ++of_peer;
    ++all_;
    return true;
  }
  void leave(const std::string& peer) {
    const std::lock_guard lock(mutex_);
    const auto found = of_peers_.find(peer);
    if (--found->second == 0) of_peers_.erase(found);
    --all_;
  }
  std::size_t size() const {
    const std::lock_guard lock(mutex_);
    return all_;
  }

 private:
  mutable std::mutex mutex_;
  std::map<std::string, std::size_t> of_peers_;
  std::size_t all_ = 0;
};

// In place of a Connection, which a stranger does not get. A socket that takes nothing at once has a peer that
// does not read.
void say_goodbye(TlsStream& stream, const Error& why) {
  const Frame frame = make_goodbye(why);
  const EncodedHeader header = encode_header(frame.header());
  Bytes bytes(header.begin(), header.end());
  bytes.insert(bytes.end(), frame.control.begin(), frame.control.end());
  (void)stream.write(bytes);
}

}  // namespace

class Listener::Impl {
 public:
  Impl(TaskGroup& group, asio::any_io_executor executor, TlsContext context, ListenOptions options,
       ListenHandlers handlers)
      : group_(group),
        executor_(std::move(executor)),
        context_(std::move(context)),
        options_(std::move(options)),
        handlers_(std::move(handlers)),
        acceptor_(asio::make_strand(executor_)),
        accepted_(acceptor_.get_executor()) {}

  Result<void> open();
  // Each holds `self` until it returns.
  static asio::awaitable<void> accept_loop(std::shared_ptr<Impl> self);
  static asio::awaitable<void> serve(std::shared_ptr<Impl> self, tcp::socket socket,
                                     std::shared_ptr<HalfOpen> half_open);

  TaskGroup& group_;
  const asio::any_io_executor executor_;
  const TlsContext context_;
  const ListenOptions options_;
  const ListenHandlers handlers_;
  tcp::acceptor acceptor_;  // on its own strand, as are the next three
  Event accepted_;
  std::optional<tcp::socket> socket_;
  error_code accept_error_;
  std::uint16_t port_ = 0;
  WaitingRoom waiting_;
  SessionCount sessions_;

 private:
  static void begin_accept(const std::shared_ptr<Impl>& self);
  void take_in(const std::shared_ptr<Impl>& self, tcp::socket socket);
  Result<void> enter(const Identity& peer);
  void refuse(const std::string& remote, const Error& why) const;
};

Result<void> Listener::Impl::open() {
  const std::string where = options_.host + ":" + std::to_string(options_.port);
  error_code error;
  const asio::ip::address address = asio::ip::make_address(options_.host, error);
  if (error) {
    return Error{Errc::kConfig, "listen address " + where +
                                    ": not a numeric address; use one of "
                                    "this machine, such as 127.0.0.1 or 0.0.0.0"};
  }
  const tcp::endpoint endpoint(address, options_.port);
  acceptor_.open(endpoint.protocol(), error);
  if (!error) acceptor_.set_option(tcp::acceptor::reuse_address(true), error);
  if (!error) acceptor_.bind(endpoint, error);
  if (!error) acceptor_.listen(tcp::acceptor::max_listen_connections, error);
  if (error) {
    return Error{Errc::kIo, "listening on " + where + ": " + error.message() +
                                "; is another process using this port?"};
  }
  port_ = acceptor_.local_endpoint().port();
  return {};
}

void Listener::Impl::refuse(const std::string& remote, const Error& why) const {
  if (handlers_.on_refused) {
    handlers_.on_refused(remote, why);
  } else {
    log::warning("net", "refused " + remote + ": " + why.to_string());
  }
}

void Listener::Impl::begin_accept(const std::shared_ptr<Impl>& self) {
  self->socket_.reset();
  self->accept_error_ = error_code();
  self->acceptor_.async_accept(asio::any_io_executor(asio::make_strand(self->executor_)),
                               [self](error_code error, tcp::socket socket) {
                                 self->accept_error_ = error;
                                 if (!error) self->socket_ = std::move(socket);
                                 self->accepted_.notify();
                               });
}

asio::awaitable<void> Listener::Impl::accept_loop(std::shared_ptr<Impl> self) {
  while (self->acceptor_.is_open()) {
    begin_accept(self);
    Result<void> woken;
    while (woken && !self->socket_ && !self->accept_error_) {
      woken = co_await self->accepted_.wait_until(kNoDeadline);
    }
    if (!woken) break;
    if (self->socket_) {
      self->take_in(self, std::move(*self->socket_));
    } else if (self->acceptor_.is_open()) {
      log::warning("net", "accepting: " + self->accept_error_.message());
      const Result<void> slept = co_await sleep_for(kAcceptPause);
      if (!slept) break;
    }
  }
  error_code ignored;
  self->acceptor_.close(ignored);
}

void Listener::Impl::take_in(const std::shared_ptr<Impl>& self, tcp::socket socket) {
  if (sessions_.size() >= options_.session_limit) {
    refuse(remote_address(socket), Error{Errc::kOverloaded, "too many connections"});
    return;
  }
  set_socket_options(socket, options_.connection);
  const asio::any_io_executor strand = socket.get_executor();
  const auto half_open = std::make_shared<HalfOpen>(HalfOpen{strand});
  if (const auto oldest = waiting_.enter(half_open, options_.half_open_limit)) {
    asio::post(oldest->strand, [oldest] {
      oldest->evicted = true;
      if (oldest->stream != nullptr) oldest->stream->close();
    });
  }
  group_.spawn(strand, serve(self, std::move(socket), half_open));
}

// Whether `peer` may come in; it counts as a session from here on.
Result<void> Listener::Impl::enter(const Identity& peer) {
  if (handlers_.admit) {
    if (Result<void> admitted = handlers_.admit(peer); !admitted) return admitted;
  }
  const std::string name = format_identity(peer);
  if (sessions_.enter(name, options_.peer_session_limit)) return {};
  return Error{Errc::kOverloaded, name + " has " + std::to_string(options_.peer_session_limit) +
                                      " connections already; is it started more than once?"};
}

asio::awaitable<void> Listener::Impl::serve(std::shared_ptr<Impl> self, tcp::socket socket,
                                            std::shared_ptr<HalfOpen> half_open) {
  ConnectionOptions options = self->options_.connection;
  auto stream =
      std::make_unique<TlsStream>(std::move(socket), self->context_, options.key_update_bytes);
  half_open->stream = stream.get();
  if (half_open->evicted) stream->close();
  const Result<void> shaken = co_await stream->handshake(now() + self->options_.handshake_deadline);
  const Result<Identity> peer = shaken ? stream->peer() : Result<Identity>(shaken.error());
  const Result<void> entered = peer ? self->enter(*peer) : Result<void>(peer.error());
  if (!entered) {
    const Error evicted{Errc::kOverloaded, "too many connections whose handshake takes long"};
    self->refuse(stream->remote_address(), half_open->evicted ? evicted : entered.error());
    if (shaken) say_goodbye(*stream, entered.error());
    co_await stream->finish(now() + kCloseDeadline);  // let the alert, or GOODBYE, arrive
  }
  half_open->stream = nullptr;
  self->waiting_.leave(half_open);
  if (!entered) co_return;
  if (self->handlers_.options) options = self->handlers_.options(*peer);
  auto connection = Connection::start(self->group_, std::move(stream), *peer, std::move(options));
  co_await self->handlers_.session(std::move(connection));
  self->sessions_.leave(format_identity(*peer));
}

Listener::Listener(std::shared_ptr<Impl> impl) : impl_(std::move(impl)) {}

Result<std::unique_ptr<Listener>> Listener::start(TaskGroup& group, asio::any_io_executor executor,
                                                  TlsContext context, ListenOptions options,
                                                  ListenHandlers handlers) {
  GODWIT_REQUIRE(context.side() == TlsSide::kServer, "a listener needs a server context");
  GODWIT_REQUIRE(handlers.session != nullptr, "a listener needs a session handler");
  const auto impl = std::make_shared<Impl>(group, std::move(executor), std::move(context),
                                           std::move(options), std::move(handlers));
  const Result<void> opened = impl->open();
  if (!opened) return opened.error();
  group.spawn(impl->acceptor_.get_executor(), Impl::accept_loop(impl));
  return std::unique_ptr<Listener>(new Listener(impl));
}

Listener::~Listener() { close(); }

std::uint16_t Listener::port() const { return impl_->port_; }
std::size_t Listener::session_count() const { return impl_->sessions_.size(); }
std::size_t Listener::half_open_count() const { return impl_->waiting_.size(); }

void Listener::close() {
  asio::post(impl_->acceptor_.get_executor(), [impl = impl_] {
    error_code ignored;
    impl->acceptor_.close(ignored);
    impl->accepted_.notify();
  });
}

}  // namespace godwit::net
