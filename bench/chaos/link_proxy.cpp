#include "bench/chaos/link_proxy.h"

#include <array>
#include <boost/asio/executor_work_guard.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/write.hpp>
#include <functional>
#include <map>
#include <thread>
#include <utility>
#include <vector>

namespace godwit::bench {
namespace {

namespace asio = boost::asio;
using asio::ip::tcp;
using boost::system::error_code;

// One link: its state, and what waits for it to be whole.
class Link {
 public:
  LinkState state() const { return state_; }
  // Now, or once the link is whole again; never, if it is cut before.
  void when_whole(std::function<void()> then) {
    if (state_ == LinkState::kWhole) return then();
    if (state_ == LinkState::kHeld) waiting_.push_back(std::move(then));
  }
  // Called when the link is cut, unless `owner` is gone by then.
  void on_cut(std::weak_ptr<void> owner, std::function<void()> then) {
    std::erase_if(cuts_, [](const auto& cut) { return cut.first.expired(); });
    cuts_.emplace_back(std::move(owner), std::move(then));
  }
  void set(LinkState state) {
    state_ = state;
    if (state == LinkState::kHeld) return;
    for (auto& then : std::exchange(waiting_, {})) {
      if (state == LinkState::kWhole) then();
    }
    if (state == LinkState::kWhole) return;
    for (auto& [owner, then] : std::exchange(cuts_, {})) {
      if (const auto alive = owner.lock()) then();
    }
  }

 private:
  LinkState state_ = LinkState::kWhole;
  std::vector<std::function<void()>> waiting_;
  std::vector<std::pair<std::weak_ptr<void>, std::function<void()>>> cuts_;
};

// A dialled connection and the one behind it. It lives as long as an operation of it is under way or waits.
class Conversation : public std::enable_shared_from_this<Conversation> {
 public:
  Conversation(Link& link, tcp::socket near, tcp::endpoint target)
      : link_(link), near_(std::move(near)), far_(near_.get_executor()), target_(std::move(target)) {}

  void start() {
    link_.on_cut(weak_from_this(), [this] { close(); });
    link_.when_whole([self = shared_from_this()] { self->connect(); });
  }

 private:
  using Buffer = std::array<char, 1U << 16>;

  void connect() {
    far_.async_connect(target_, [self = shared_from_this()](error_code error) {
      if (error) return self->close();
      error_code ignored;
      self->near_.set_option(tcp::no_delay(true), ignored);
      self->far_.set_option(tcp::no_delay(true), ignored);
      self->forward(self->near_, self->far_, self->outward_);
      self->forward(self->far_, self->near_, self->inward_);
    });
  }

  void forward(tcp::socket& from, tcp::socket& to, Buffer& buffer) {
    from.async_read_some(asio::buffer(buffer), [self = shared_from_this(), &from, &to, &buffer](
                                                   error_code error, std::size_t count) {
      self->link_.when_whole([self, &from, &to, &buffer, error, count] {
        if (error) return self->close();
        self->deliver(from, to, buffer, count);
      });
    });
  }

  void deliver(tcp::socket& from, tcp::socket& to, Buffer& buffer, std::size_t count) {
    const auto bytes = asio::buffer(buffer.data(), count);
    asio::async_write(to, bytes, [self = shared_from_this(), &from, &to, &buffer](error_code error, std::size_t) {
      if (error) return self->close();
      self->forward(from, to, buffer);
    });
  }

  void close() {
    error_code ignored;
    near_.close(ignored);
    far_.close(ignored);
  }

  Link& link_;
  tcp::socket near_, far_;
  tcp::endpoint target_;
  Buffer outward_{}, inward_{};
};

struct Proxy {
  Proxy(asio::io_context& io, std::uint16_t port)
      : acceptor(io), target(asio::ip::address_v4::loopback(), port) {}

  Result<std::uint16_t> listen() {
    const tcp::endpoint any(asio::ip::address_v4::loopback(), 0);
    error_code error;
    acceptor.open(any.protocol(), error);
    if (!error) acceptor.bind(any, error);
    if (!error) acceptor.listen(asio::socket_base::max_listen_connections, error);
    if (error) return Error{Errc::kIo, "a proxy cannot listen: " + error.message()};
    return acceptor.local_endpoint().port();
  }

  void accept() {
    acceptor.async_accept([this](error_code error, tcp::socket near) {
      if (error == asio::error::operation_aborted) return;
      if (!error && link.state() != LinkState::kCut) {
        std::make_shared<Conversation>(link, std::move(near), target)->start();
      }
      accept();
    });
  }

  Link link;
  tcp::acceptor acceptor;
  tcp::endpoint target;
};

}  // namespace

class LinkProxies::Impl {
 public:
  ~Impl() {
    io_.stop();
    thread_.join();
  }

  Result<std::uint16_t> add(std::size_t from, std::size_t to, std::uint16_t target) {
    auto proxy = std::make_unique<Proxy>(io_, target);
    Result<std::uint16_t> port = proxy->listen();
    if (!port) return port;
    asio::post(io_, [this, key = std::pair(from, to), proxy = std::shared_ptr<Proxy>(std::move(proxy))] {
      proxies_[key] = proxy;
      proxy->accept();
    });
    return port;
  }

  void set(std::size_t one, std::size_t other, LinkState state) {
    asio::post(io_, [this, one, other, state] {
      for (const auto& key : {std::pair(one, other), std::pair(other, one)}) {
        if (const auto found = proxies_.find(key); found != proxies_.end()) found->second->link.set(state);
      }
    });
  }

 private:
  asio::io_context io_{1};
  std::map<std::pair<std::size_t, std::size_t>, std::shared_ptr<Proxy>> proxies_;  // belongs to thread_
  asio::executor_work_guard<asio::io_context::executor_type> work_{io_.get_executor()};
  std::thread thread_{[this] { io_.run(); }};
};

LinkProxies::LinkProxies() : impl_(std::make_unique<Impl>()) {}
LinkProxies::~LinkProxies() = default;
Result<std::uint16_t> LinkProxies::add(std::size_t from, std::size_t to, std::uint16_t target) {
  return impl_->add(from, to, target);
}
void LinkProxies::set(std::size_t one, std::size_t other, LinkState state) { impl_->set(one, other, state); }

}  // namespace godwit::bench
