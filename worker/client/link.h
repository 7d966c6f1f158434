// Link: the client's connection to its region's server, on an I/O thread of its own. It dials, dials again
// with back-off when the connection breaks, and hands what arrives to the training thread.
//
// start, stop, send, next_arrival, wait_for_arrival: the training thread.
#pragma once

#include <boost/asio/io_context.hpp>
#include <condition_variable>
#include <deque>
#include <memory>
#include <mutex>
#include <optional>
#include <thread>
#include <variant>

#include "shared/net/dialer.h"
#include "shared/net/event.h"
#include "shared/net/message_stream.h"
#include "worker/client/session.h"

namespace godwit::client {

namespace asio = boost::asio;

struct Connected { wire::Welcome welcome; };
struct Disconnected {
  Error why;
  bool fatal = false;  // trying again cannot help: a certificate, a region, a configuration
};
using Arrival = std::variant<Connected, Disconnected, Message>;

class Link {
 public:
  explicit Link(const SessionOptions& options) : options_(options) {}
  ~Link() { stop(); }
  // Errors: kConfig (certificates, address).
  Result<void> start();
  void stop();
  // Dropped when there is no connection: whoever needs it sends it again on Connected.
  void send(const Message& message);
  std::optional<Arrival> next_arrival();
  void wait_for_arrival(TimePoint deadline);

 private:
  asio::awaitable<void> dial_forever(net::TlsContext context, net::DialTarget target);
  asio::awaitable<Error> converse();
  asio::awaitable<void> shut_down();
  void arrive(Arrival arrival);

  const SessionOptions& options_;
  asio::io_context io_;
  std::unique_ptr<net::TaskGroup> group_;
  std::thread thread_;
  std::mutex mutex_;  // guards the two below
  std::deque<Arrival> arrivals_;
  std::shared_ptr<net::MessageStream> stream_;
  std::condition_variable arrived_;
};

}  // namespace godwit::client
