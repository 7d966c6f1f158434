// dial(): from an address to a connection that the server has welcomed.
#pragma once

#include "shared/net/connection.h"
#include "shared/net/task_group.h"
#include "shared/net/tls.h"

namespace godwit::net {

struct DialTarget {
  std::string host;
  std::uint16_t port = 0;
  ExpectedPeer expected;
};

struct Dialed {
  std::shared_ptr<Connection> connection;
  Frame welcome;
};

// Connects, checks who the server is, sends HELLO with `hello` as control bytes, waits for WELCOME.
// Nothing else is sent before: a TLS 1.3 client believes itself connected before it is authorised.
// The connection lives in `group`, on the caller's executor: a strand, or a one-thread context.
// Errors: kUnavailable, kTimedOut, kClosed, kUnauthenticated, kForbidden, or what GOODBYE named.
asio::awaitable<Result<Dialed>> dial(TaskGroup& group, TlsContext context, DialTarget target,
                                     Bytes hello, ConnectionOptions options, TimePoint deadline);

}  // namespace godwit::net
