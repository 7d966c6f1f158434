#include "shared/net/tcp.h"

#include <netinet/tcp.h>
#include <sys/socket.h>

#include <boost/asio/this_coro.hpp>
#include <memory>
#include <vector>

#include "shared/base/log.h"

namespace godwit::net {
namespace {

using asio::ip::tcp;
using boost::system::error_code;

// Shared with a callback that may come after its coroutine has given up.
template <class T>
struct Answer {
  explicit Answer(const asio::any_io_executor& executor) : arrived(executor) {}
  Event arrived;
  bool done = false;
  error_code error;
  T value;
};

template <class T>
asio::awaitable<Result<void>> wait_for(std::shared_ptr<Answer<T>> answer, TimePoint deadline) {
  while (!answer->done) {
    const Result<void> woken = co_await answer->arrived.wait_until(deadline);
    if (!woken) co_return woken.error();
  }
  if (answer->error) co_return Error{Errc::kUnavailable, answer->error.message()};
  co_return Result<void>();
}

asio::awaitable<Result<std::vector<tcp::endpoint>>> resolve(std::string host, std::uint16_t port,
                                                            TimePoint deadline) {
  error_code not_an_address;
  const asio::ip::address address = asio::ip::make_address(host, not_an_address);
  if (!not_an_address) co_return std::vector{tcp::endpoint(address, port)};
  const asio::any_io_executor executor = co_await asio::this_coro::executor;
  tcp::resolver resolver(executor);
  auto answer = std::make_shared<Answer<tcp::resolver::results_type>>(executor);
  resolver.async_resolve(host, std::to_string(port),
                         [answer](error_code error, tcp::resolver::results_type found) {
                           answer->error = error;
                           answer->value = std::move(found);
                           answer->done = true;
                           answer->arrived.notify();
                         });
  const Result<void> resolved = co_await wait_for(answer, deadline);
  if (!resolved) co_return resolved.error();
  std::vector<tcp::endpoint> endpoints;
  for (const auto& entry : answer->value) endpoints.push_back(entry.endpoint());
  co_return std::move(endpoints);
}

asio::awaitable<Result<tcp::socket>> connect_one(tcp::endpoint endpoint, TimePoint deadline) {
  const asio::any_io_executor executor = co_await asio::this_coro::executor;
  tcp::socket socket(executor);
  auto answer = std::make_shared<Answer<int>>(executor);
  socket.async_connect(endpoint, [answer](error_code error) {
    answer->error = error;
    answer->done = true;
    answer->arrived.notify();
  });
  const Result<void> connected = co_await wait_for(answer, deadline);
  if (!connected) co_return connected.error();
  co_return std::move(socket);
}

}  // namespace

asio::awaitable<Result<tcp::socket>> connect(std::string host, std::uint16_t port,
                                             TimePoint deadline) {
  const std::string where = host + ":" + std::to_string(port);
  const auto failed = [&where](const Error& why) {
    return Error{why.code, "connecting to " + where + ": " + why.context};
  };
  const Result<std::vector<tcp::endpoint>> endpoints = co_await resolve(host, port, deadline);
  if (!endpoints) co_return failed(endpoints.error());
  Error last{Errc::kUnavailable, "the name has no address"};
  for (const tcp::endpoint& endpoint : *endpoints) {
    Result<tcp::socket> socket = co_await connect_one(endpoint, deadline);
    if (socket) co_return std::move(*socket);
    last = socket.error();
    if (last.code != Errc::kUnavailable) break;
  }
  co_return failed(last);
}

void set_socket_options(tcp::socket& socket, const ConnectionOptions& options) {
  error_code ignored;
  socket.set_option(tcp::no_delay(true), ignored);
  const int descriptor = socket.native_handle();
  const auto silence = std::chrono::duration_cast<milliseconds>(options.silence_deadline);
  const auto user_timeout = static_cast<unsigned>(2 * silence.count());
  ::setsockopt(descriptor, IPPROTO_TCP, TCP_USER_TIMEOUT, &user_timeout, sizeof(user_timeout));
  const std::string& congestion = options.congestion_control;
  if (!congestion.empty() && ::setsockopt(descriptor, IPPROTO_TCP, TCP_CONGESTION,
                                          congestion.data(), congestion.size()) != 0) {
    log::debug("net", "congestion control " + congestion + " is not there; using the default");
  }
}

std::string remote_address(const tcp::socket& socket) {
  error_code error;
  const tcp::endpoint endpoint = socket.remote_endpoint(error);
  if (error) return "unknown address";
  return endpoint.address().to_string() + ":" + std::to_string(endpoint.port());
}

}  // namespace godwit::net
