// Listener: accepts TCP, does the TLS handshake, learns who it is, asks `admit`, runs a session.
// Whatever a stranger sends ends in a named error for on_refused; the listener goes on.
#pragma once

#include <functional>

#include "shared/net/connection.h"
#include "shared/net/task_group.h"
#include "shared/net/tls.h"

namespace godwit::net {

struct ListenOptions {
  std::string host = "127.0.0.1";  // an address of this machine; "0.0.0.0" or "::" for all
  std::uint16_t port = 0;          // 0: any free one, see Listener::port()
  // Connections that are not sessions yet. One more takes the place of the one that has waited longest: who only
  // holds places keeps nobody out.
  std::size_t half_open_limit = 64;
  // Sessions of all peers, and of one. Above either limit a new connection is closed.
  std::size_t session_limit = 1024;
  std::size_t peer_session_limit = 8;
  Duration handshake_deadline = seconds(5);
  ConnectionOptions connection;
};

// Called on the connection's own strand; on_refused on the listener's, too.
struct ListenHandlers {
  // Who may come in: an error is sent to the peer as GOODBYE.
  std::function<Result<void>(const Identity& peer)> admit;
  // What this peer's connection is made with, where it differs from ListenOptions::connection: its link.
  std::function<ConnectionOptions(const Identity& peer)> options;
  // One session; runs in the TaskGroup. The peer's HELLO is the first frame to read; the session
  // answers with WELCOME, or closes with the reason.
  std::function<asio::awaitable<void>(std::shared_ptr<Connection>)> session;
  // A connection that did not become a session. Default: a line in the log.
  std::function<void(const std::string& remote_address, const Error& why)> on_refused;
};

class Listener {
 public:
  // Connections get strands on `executor` (of the io_context itself). Starts to accept at once, in
  // `group`. kConfig: no such address; kIo: the port is taken.
  static Result<std::unique_ptr<Listener>> start(TaskGroup& group, asio::any_io_executor executor,
                                                 TlsContext context, ListenOptions options,
                                                 ListenHandlers handlers);
  ~Listener();
  Listener(const Listener&) = delete;
  Listener& operator=(const Listener&) = delete;

  std::uint16_t port() const;
  std::size_t session_count() const;
  std::size_t half_open_count() const;
  // Any thread. Accepts no more; sessions go on. The group's stop() does it too.
  void close();

 private:
  class Impl;
  explicit Listener(std::shared_ptr<Impl> impl);
  std::shared_ptr<Impl> impl_;
};

}  // namespace godwit::net
