#include "shared/net/listener.h"

#include <atomic>
#include <boost/asio/post.hpp>
#include <boost/asio/strand.hpp>
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

// One of a limited number, for as long as it lives.
class Place {
 public:
  explicit Place(std::atomic<std::size_t>& count) : count_(&count) { ++*count_; }
  Place(Place&& other) noexcept : count_(std::exchange(other.count_, nullptr)) {}
  Place& operator=(Place&&) = delete;
  ~Place() { leave(); }
  void leave() {
    if (count_ != nullptr) --*std::exchange(count_, nullptr);
  }

 private:
  std::atomic<std::size_t>* count_;
};

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
                                     Place half_open);

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
  std::atomic<std::size_t> half_open_ = 0;
  std::atomic<std::size_t> sessions_ = 0;

 private:
  static void begin_accept(const std::shared_ptr<Impl>& self);
  void take_in(const std::shared_ptr<Impl>& self, tcp::socket socket);
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
  const std::size_t half_open = half_open_;
  if (half_open >= options_.half_open_limit || half_open + sessions_ >= options_.session_limit) {
    refuse(remote_address(socket), Error{Errc::kOverloaded, "too many connections"});
    return;
  }
  set_socket_options(socket, options_.connection);
  const asio::any_io_executor strand = socket.get_executor();
  group_.spawn(strand, serve(self, std::move(socket), Place(half_open_)));
}

asio::awaitable<void> Listener::Impl::serve(std::shared_ptr<Impl> self, tcp::socket socket,
                                            Place half_open) {
  ConnectionOptions options = self->options_.connection;
  auto stream =
      std::make_unique<TlsStream>(std::move(socket), self->context_, options.key_update_bytes);
  const std::string remote = stream->remote_address();
  const Result<void> shaken = co_await stream->handshake(now() + self->options_.handshake_deadline);
  if (!shaken) {
    self->refuse(remote, shaken.error());
    co_await stream->finish(now() + kCloseDeadline);  // let the alert arrive
    co_return;
  }
  Result<Identity> peer = stream->peer();
  Result<void> admitted = peer ? Result<void>() : Result<void>(peer.error());
  if (peer && self->handlers_.admit) admitted = self->handlers_.admit(*peer);
  if (peer && admitted && self->handlers_.options) options = self->handlers_.options(*peer);
  Identity identity = peer ? std::move(*peer) : Identity();
  auto connection =
      Connection::start(self->group_, std::move(stream), std::move(identity), std::move(options));
  const Place session(self->sessions_);
  half_open.leave();
  if (!admitted) {
    self->refuse(remote, admitted.error());
    connection->close(admitted.error());
    co_return;
  }
  co_await self->handlers_.session(std::move(connection));
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
std::size_t Listener::session_count() const { return impl_->sessions_; }
std::size_t Listener::half_open_count() const { return impl_->half_open_; }

void Listener::close() {
  asio::post(impl_->acceptor_.get_executor(), [impl = impl_] {
    error_code ignored;
    impl->acceptor_.close(ignored);
    impl->accepted_.notify();
  });
}

}  // namespace godwit::net
