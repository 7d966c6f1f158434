#include "shared/net/tls_stream.h"

#include <sys/socket.h>

#include <array>
#include <cerrno>

#include "shared/net/tcp.h"

namespace godwit::net {
namespace {

// OpenSSL's own socket BIO writes without MSG_NOSIGNAL: a vanished peer would raise SIGPIPE in a
// process whose signals are not ours to set. Hence this one.
int wire_write(BIO* bio, const char* data, std::size_t size, std::size_t* written) {
  auto* wire = static_cast<TlsStream::Wire*>(BIO_get_data(bio));
  BIO_clear_retry_flags(bio);
  const ssize_t count = ::send(wire->descriptor, data, size, MSG_NOSIGNAL | MSG_DONTWAIT);
  if (count < 0) {
    if (errno == EAGAIN || errno == EINTR) BIO_set_retry_write(bio);
    return 0;
  }
  *written = static_cast<std::size_t>(count);
  wire->sent += *written;
  return 1;
}

int wire_read(BIO* bio, char* data, std::size_t size, std::size_t* read) {
  auto* wire = static_cast<TlsStream::Wire*>(BIO_get_data(bio));
  BIO_clear_retry_flags(bio);
  const ssize_t count = ::recv(wire->descriptor, data, size, MSG_DONTWAIT);
  if (count > 0) {
    *read = static_cast<std::size_t>(count);
    wire->received += *read;
    return 1;
  }
  wire->ended = count == 0;
  if (count < 0 && (errno == EAGAIN || errno == EINTR)) BIO_set_retry_read(bio);
  return 0;
}

long wire_control(BIO* bio, int command, long, void*) {
  if (command == BIO_CTRL_FLUSH) return 1;
  if (command == BIO_CTRL_EOF)
    return static_cast<TlsStream::Wire*>(BIO_get_data(bio))->ended ? 1 : 0;
  return 0;
}

const BIO_METHOD* wire_method() {
  static const BIO_METHOD* const kMethod = [] {
    BIO_METHOD* method = BIO_meth_new(BIO_get_new_index() | BIO_TYPE_SOURCE_SINK, "godwit socket");
    GODWIT_CHECK(method != nullptr, "OpenSSL cannot make a BIO method");
    BIO_meth_set_write_ex(method, wire_write);
    BIO_meth_set_read_ex(method, wire_read);
    BIO_meth_set_ctrl(method, wire_control);
    return method;
  }();
  return kMethod;
}

}  // namespace

// Shared with the socket's callback, which may run after the stream is gone.
struct TlsStream::Readiness {
  explicit Readiness(const asio::any_io_executor& executor) : event(executor) {}
  Event event;
  bool armed = false;  // a callback will come
};

TlsStream::TlsStream(asio::ip::tcp::socket socket, const TlsContext& context,
                     std::uint64_t key_update_bytes)
    : executor_(socket.get_executor()),
      socket_(std::move(socket)),
      remote_address_(net::remote_address(socket_)),
      ssl_(SSL_new(context.native())),
      readable_(std::make_shared<Readiness>(executor_)),
      writable_(std::make_shared<Readiness>(executor_)),
      key_update_bytes_(key_update_bytes) {
  GODWIT_CHECK(ssl_ != nullptr, "OpenSSL cannot make a session");
  wire_.descriptor = socket_.native_handle();
  BIO* bio = BIO_new(wire_method());
  GODWIT_CHECK(bio != nullptr, "OpenSSL cannot make a BIO");
  BIO_set_data(bio, &wire_);
  BIO_set_init(bio, 1);
  SSL_set_bio(ssl_.get(), bio, bio);  // takes over bio
  if (context.side() == TlsSide::kServer) {
    SSL_set_accept_state(ssl_.get());
  } else {
    SSL_set_connect_state(ssl_.get());
  }
}

TlsStream::~TlsStream() { close(); }

Result<TlsStream::Direction> TlsStream::blocked_on(int ssl_result) {
  const int why = SSL_get_error(ssl_.get(), ssl_result);
  if (why == SSL_ERROR_WANT_READ) return Direction::wait_read;
  if (why == SSL_ERROR_WANT_WRITE) return Direction::wait_write;
  return describe_tls_failure(ssl_.get(), why);
}

asio::awaitable<Result<void>> TlsStream::handshake(TimePoint deadline) {
  while (true) {
    ERR_clear_error();
    errno = 0;
    const int result = SSL_do_handshake(ssl_.get());
    if (result == 1) co_return Result<void>();
    const Result<Direction> direction = blocked_on(result);
    if (!direction) co_return direction.error();
    const Result<void> ready = co_await wait(*direction, deadline);
    if (!ready && ready.error().code == Errc::kTimedOut) {
      co_return Error{Errc::kTimedOut, "TLS: the peer did not finish the handshake in time"};
    }
    if (!ready) co_return ready.error();
  }
}

Result<std::size_t> TlsStream::read(std::span<std::byte> into) {
  ERR_clear_error();
  errno = 0;
  std::size_t count = 0;
  const int result = SSL_read_ex(ssl_.get(), into.data(), into.size(), &count);
  if (result == 1) return count;
  const Result<Direction> direction = blocked_on(result);
  if (!direction) return direction.error();
  read_blocked_on_ = *direction;
  return std::size_t{0};
}

Result<bool> TlsStream::write(ByteView bytes) {
  update_key_when_due();
  ERR_clear_error();
  errno = 0;
  std::size_t count = 0;
  const int result = SSL_write_ex(ssl_.get(), bytes.data(), bytes.size(), &count);
  if (result == 1) return true;
  const Result<Direction> direction = blocked_on(result);
  if (!direction) return direction.error();
  write_blocked_on_ = *direction;
  return false;
}

// RFC 8446 5.5 bounds what one AES-GCM key may encrypt. OpenSSL refuses the request while a write
// is half done; then the next write asks again.
void TlsStream::update_key_when_due() {
  if (wire_.sent - key_used_from_ < key_update_bytes_) return;
  if (SSL_key_update(ssl_.get(), SSL_KEY_UPDATE_NOT_REQUESTED) == 1) key_used_from_ = wire_.sent;
}

asio::awaitable<Result<void>> TlsStream::wait(Direction direction, TimePoint deadline) {
  if (!socket_.is_open()) co_return Error{Errc::kClosed, "closed"};
  const std::shared_ptr<Readiness> side = direction == Direction::wait_read ? readable_ : writable_;
  if (!side->armed) {
    side->armed = true;
    socket_.async_wait(direction, [side](const boost::system::error_code&) {
      side->armed = false;
      side->event.notify();
    });
  }
  co_return co_await side->event.wait_until(deadline);
}

asio::awaitable<Result<void>> TlsStream::wait_for_read(TimePoint deadline) {
  return wait(read_blocked_on_, deadline);
}

asio::awaitable<Result<void>> TlsStream::wait_for_write(TimePoint deadline) {
  return wait(write_blocked_on_, deadline);
}

void TlsStream::interrupt() {
  readable_->event.notify();
  writable_->event.notify();
}

asio::awaitable<void> TlsStream::finish(TimePoint deadline) {
  if (!socket_.is_open()) co_return;
  SSL_shutdown(ssl_.get());
  ERR_clear_error();
  boost::system::error_code ignored;
  socket_.shutdown(asio::ip::tcp::socket::shutdown_send, ignored);
  std::array<std::byte, 4096> unwanted;
  while (socket_.is_open() && now() < deadline) {
    const ssize_t count = ::recv(wire_.descriptor, unwanted.data(), unwanted.size(), MSG_DONTWAIT);
    if (count == 0 || (count < 0 && errno != EAGAIN)) break;
    const Result<void> ready = co_await wait(Direction::wait_read, deadline);
    if (!ready) break;
  }
  close();
}

void TlsStream::close() {
  wire_.descriptor = -1;
  boost::system::error_code ignored;
  socket_.close(ignored);
  interrupt();
}

}  // namespace godwit::net
