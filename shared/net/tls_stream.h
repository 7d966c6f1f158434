// TlsStream: TLS over one TCP socket. Calls never block: they do what can be done now, and waits
// are separate. OpenSSL works on the socket itself, so a large write becomes many records in one
// call and a read lands where the caller wants it. One strand. Internal to shared/net.
#pragma once

#include <boost/asio/ip/tcp.hpp>
#include <cstdint>
#include <memory>
#include <span>

#include "shared/base/bytes.h"
#include "shared/net/event.h"
#include "shared/net/openssl_handles.h"
#include "shared/net/tls.h"

namespace godwit::net {

class TlsStream {
 public:
  // `socket` is connected, its executor is the strand. A new key is used after `key_update_bytes`.
  TlsStream(asio::ip::tcp::socket socket, const TlsContext& context,
            std::uint64_t key_update_bytes);
  ~TlsStream();
  TlsStream(const TlsStream&) = delete;
  TlsStream& operator=(const TlsStream&) = delete;

  // kTimedOut, kUnauthenticated, kUnsupported, kMalformed, kClosed.
  asio::awaitable<Result<void>> handshake(TimePoint deadline);
  ssl_st* native() const { return ssl_.get(); }
  Result<Identity> peer() const { return peer_identity(ssl_.get()); }

  // At least one byte, or 0: none now.
  Result<std::size_t> read(std::span<std::byte> into);
  // True: all of it is with the socket. False: not now, call again with the same bytes.
  Result<bool> write(ByteView bytes);

  // Until the last read / write that said "not now" may get further, or interrupt().
  asio::awaitable<Result<void>> wait_for_read(TimePoint deadline);
  asio::awaitable<Result<void>> wait_for_write(TimePoint deadline);
  void interrupt();

  // Says that nothing more comes, lets the peer read what was sent (a socket closed with unread
  // input would throw that away), closes. Drops input until the peer closes too, or until the
  // deadline.
  asio::awaitable<void> finish(TimePoint deadline);
  void close();

  const asio::any_io_executor& executor() const { return executor_; }
  const std::string& remote_address() const { return remote_address_; }
  std::uint64_t bytes_sent() const { return wire_.sent; }
  std::uint64_t bytes_received() const { return wire_.received; }

  // What OpenSSL reads from and writes to.
  struct Wire {
    int descriptor = -1;
    bool ended = false;  // the peer sent FIN
    std::uint64_t sent = 0;
    std::uint64_t received = 0;
  };

 private:
  struct Readiness;
  using Direction = asio::ip::tcp::socket::wait_type;

  asio::awaitable<Result<void>> wait(Direction direction, TimePoint deadline);
  // After a call that made no progress: what it waits for, or the error.
  Result<Direction> blocked_on(int ssl_result);
  void update_key_when_due();

  asio::any_io_executor executor_;
  asio::ip::tcp::socket socket_;
  std::string remote_address_;
  Wire wire_;
  SslHandle ssl_;
  std::shared_ptr<Readiness> readable_;
  std::shared_ptr<Readiness> writable_;
  Direction read_blocked_on_ = Direction::wait_read;
  Direction write_blocked_on_ = Direction::wait_write;
  std::uint64_t key_update_bytes_;
  std::uint64_t key_used_from_ = 0;  // wire_.sent when the current key was taken
};

}  // namespace godwit::net
