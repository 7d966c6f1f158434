// A server and clients on 127.0.0.1 in one thread: the test's thread runs them whenever it waits.
#pragma once

#include <gtest/gtest.h>

#include <boost/asio/io_context.hpp>
#include <map>
#include <optional>

#include "shared/net/dialer.h"
#include "shared/net/event.h"
#include "shared/net/listener.h"

namespace godwit::net {

// Every wait of a test ends after this long, and then fails it.
inline constexpr Duration kTestDeadline = seconds(20);
inline constexpr MessageKind kData = static_cast<MessageKind>(100);

class Loopback : public testing::Test {
 protected:
  Loopback();
  ~Loopback() override;

  // Certificates of the cluster "demo".
  CertifiedKey issue(const Identity& identity) const;
  TlsOptions tls(CertifiedKey own) const;
  TlsContext context(TlsSide side, const Identity& identity) const;

  // Serves sessions: HELLO, WELCOME, then every kData frame comes back, until the end.
  void serve(ListenOptions options = {});
  Result<Dialed> dial(ConnectionOptions options = {});
  Result<Dialed> dial(TlsContext client, ExpectedPeer expected, ConnectionOptions options = {});

  Result<Frame> read(const std::shared_ptr<Connection>& connection,
                     Duration timeout = kTestDeadline);

  // Runs the network until the condition holds; false at kTestDeadline.
  template <class Condition>
  bool run_until(Condition holds) {
    const TimePoint deadline = now() + kTestDeadline;
    while (!holds()) {
      if (now() > deadline) return false;
      run_a_little();
    }
    return true;
  }

  template <class T>
  T await(asio::awaitable<T> task) {
    auto answer = std::make_shared<std::optional<T>>();
    group_.spawn(store(std::move(task), answer));
    EXPECT_TRUE(run_until([&answer] { return answer->has_value(); }));
    GODWIT_CHECK(answer->has_value(), "a test waited in vain");
    return std::move(**answer);
  }

  CertifiedKey authority_;
  asio::io_context io_;
  TaskGroup group_;
  std::unique_ptr<Listener> listener_;

  // What the server saw.
  std::function<Result<void>(const Identity&)> admit_;
  std::vector<Error> refused_;
  std::vector<Error> session_ends_;
  std::size_t echoed_ = 0;
  std::shared_ptr<Connection> server_side_;  // of the latest session

 private:
  template <class T>
  static asio::awaitable<void> store(asio::awaitable<T> task,
                                     std::shared_ptr<std::optional<T>> answer) {
    T result = co_await std::move(task);
    answer->emplace(std::move(result));
  }
  void run_a_little();
  asio::awaitable<void> session(std::shared_ptr<Connection> connection);
};

}  // namespace godwit::net
