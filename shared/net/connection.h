// Connection: frames over one TLS stream, in order, both ways. It has one strand, its executor.
//
// Sending: frames wait in a queue bounded in bytes; one writer takes them out.
// Receiving: nothing is read ahead of read(): a slow reader slows its peer down through TCP.
// Heartbeats: each side pings every heartbeat_interval, and read() closes the connection with
// kTimedOut when nothing at all arrived for silence_deadline. Pings and pongs are dealt with inside
// read(), so a session always has a read() under way.
// The end: the first reason wins, whoever gives it; read, send and try_send return it from then on.
// If it is ours, the peer gets it in a last GOODBYE frame. The coroutines belong to the TaskGroup
// that was given to start(). Dropping the last shared_ptr closes; do that before the io_context
// goes.
#pragma once

#include <boost/asio/any_io_executor.hpp>
#include <boost/asio/awaitable.hpp>
#include <memory>

#include "shared/net/clock.h"
#include "shared/net/frame.h"
#include "shared/net/identity.h"
#include "shared/net/send_queue.h"
#include "shared/net/shaper.h"

namespace godwit::net {

namespace asio = boost::asio;
class TaskGroup;
class TlsStream;

struct ConnectionOptions {
  // Frames that wait or are being written, in bytes. Full: try_send says kOverloaded, send waits.
  std::size_t send_queue_bytes = 16u << 20;
  Duration heartbeat_interval = milliseconds(500);
  Duration silence_deadline = seconds(4);
  // The socket took no byte for this long: the peer does not read; kTimedOut.
  Duration stall_deadline = seconds(10);
  // Bytes sent under one TLS key; then it is renewed.
  std::uint64_t key_update_bytes = 64ull << 30;
  // TCP congestion control by name, such as "bbr"; empty or unknown to the kernel: its default.
  std::string congestion_control;
  std::shared_ptr<Shaper> shaper;  // of the link that this connection is a part of; null: none
};

// How long a close may take, once decided: the frame in progress, GOODBYE, the peer's last bytes.
inline constexpr Duration kCloseDeadline = seconds(1);

struct ConnectionCounters {
  std::uint64_t bytes_sent = 0;  // on the wire, TLS included
  std::uint64_t bytes_received = 0;
  std::uint64_t frames_sent = 0;  // heartbeats included
  std::uint64_t frames_received = 0;
};

class Connection {
 public:
  // For Listener and dial(): `stream` has finished its handshake, and is on a strand.
  static std::shared_ptr<Connection> start(TaskGroup& group, std::unique_ptr<TlsStream> stream,
                                           Identity peer, ConnectionOptions options);
  ~Connection();
  Connection(const Connection&) = delete;
  Connection& operator=(const Connection&) = delete;

  // On executor(), one read at a time. The next frame of a conversation. kTimedOut with ended()
  // false: the deadline passed, nothing is lost, read again. Any other error is the end.
  asio::awaitable<Result<Frame>> read(TimePoint deadline);

  // Any thread, never waits. kOverloaded: the queue is full, nothing happened.
  Result<void> try_send(Frame frame, OnWritten on_written = nullptr);

  // On executor(). Waits for room in the queue; kTimedOut: there was none, nothing happened.
  asio::awaitable<Result<void>> send(Frame frame, TimePoint deadline,
                                     OnWritten on_written = nullptr);

  // Any thread. Frames that wait are dropped, GOODBYE is sent, the stream closed; all within
  // kCloseDeadline. To end after a last frame, close in its on_written.
  void close(Error reason);

  // Any thread.
  bool ended() const;
  ConnectionCounters counters() const;
  std::size_t queued_bytes() const;
  // The last ping's; zero before the first pong. A ping waits for the frame in progress, no longer.
  Duration round_trip_time() const;
  const Identity& peer() const;
  const std::string& remote_address() const;
  const asio::any_io_executor& executor() const;

 private:
  class Impl;
  explicit Connection(std::shared_ptr<Impl> impl);
  std::shared_ptr<Impl> impl_;  // outlives this while its coroutines wind up
};

}  // namespace godwit::net
