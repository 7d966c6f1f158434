// Plain TCP, before TLS: connect with a deadline, socket options. Internal to shared/net.
#pragma once

#include <boost/asio/ip/tcp.hpp>
#include <string>

#include "shared/net/connection.h"
#include "shared/net/event.h"

namespace godwit::net {

// Runs on, and gives a socket of, the caller's executor. `host`: a name or an address; each address
// of it is tried. kUnavailable: unknown name, or no address answered; kTimedOut; kClosed.
asio::awaitable<Result<asio::ip::tcp::socket>> connect(std::string host, std::uint16_t port,
                                                       TimePoint deadline);

// No delay, a limit on unacknowledged time, congestion control. What the kernel lacks is skipped.
void set_socket_options(asio::ip::tcp::socket& socket, const ConnectionOptions& options);

// "address:port", or "unknown address".
std::string remote_address(const asio::ip::tcp::socket& socket);

}  // namespace godwit::net
