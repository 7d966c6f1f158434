#include "shared/net/probe.h"

#include <fcntl.h>
#include <netdb.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <array>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/io_context.hpp>
#include <cerrno>
#include <cstring>

#include "shared/net/frame.h"
#include "shared/net/tcp.h"
#include "shared/net/tls_stream.h"

namespace godwit::net {
namespace {

constexpr std::uint64_t kKeyUpdateBytes = 1ULL << 30U;

class Socket {
 public:
  explicit Socket(int family)
      : descriptor_(::socket(family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0)) {}
  ~Socket() {
    if (descriptor_ >= 0) ::close(descriptor_);
  }
  Socket(const Socket&) = delete;
  Socket& operator=(const Socket&) = delete;
  int get() const { return descriptor_; }

 private:
  int descriptor_;
};

class Addresses {
 public:
  Addresses(const std::string& host, std::uint16_t port, int flags) {
    addrinfo wanted{};
    wanted.ai_socktype = SOCK_STREAM;
    wanted.ai_flags = flags;
    error_ = ::getaddrinfo(host.c_str(), std::to_string(port).c_str(), &wanted, &first_);
  }
  ~Addresses() {
    if (first_ != nullptr) ::freeaddrinfo(first_);
  }
  Addresses(const Addresses&) = delete;
  Addresses& operator=(const Addresses&) = delete;
  const addrinfo* first() const { return first_; }
  std::string error() const { return error_ == 0 ? "" : ::gai_strerror(error_); }

 private:
  addrinfo* first_ = nullptr;
  int error_ = 0;
};

std::string numeric(const addrinfo& address) {
  std::array<char, NI_MAXHOST> text{};
  ::getnameinfo(address.ai_addr, address.ai_addrlen, text.data(), text.size(), nullptr, 0,
                NI_NUMERICHOST);
  return text.data();
}

Reach reach_of(int error) {
  switch (error) {
    case 0:
      return Reach::kConnected;
    case ECONNREFUSED:
      return Reach::kRefused;
    case ETIMEDOUT:
      return Reach::kTimedOut;
    case EHOSTUNREACH:
    case ENETUNREACH:
    case EHOSTDOWN:
    case ENETDOWN:
      return Reach::kUnreachable;
    default:
      return Reach::kOther;
  }
}

// 0, or the errno.
int try_connect(const addrinfo& address, Duration limit) {
  const Socket socket(address.ai_family);
  if (socket.get() < 0) return errno;
  if (::connect(socket.get(), address.ai_addr, address.ai_addrlen) == 0) return 0;
  if (errno != EINPROGRESS) return errno;
  pollfd ready{socket.get(), POLLOUT, 0};
  const auto wait = std::chrono::duration_cast<milliseconds>(limit);
  const int count = ::poll(&ready, 1, static_cast<int>(wait.count()));
  if (count <= 0) return count == 0 ? ETIMEDOUT : errno;
  int error = 0;
  socklen_t size = sizeof(error);
  ::getsockopt(socket.get(), SOL_SOCKET, SO_ERROR, &error, &size);
  return error;
}

Distrust distrust_of(int error) {
  switch (error) {
    case X509_V_ERR_CERT_HAS_EXPIRED:
      return Distrust::kExpired;
    case X509_V_ERR_CERT_NOT_YET_VALID:
      return Distrust::kNotYetValid;
    case X509_V_ERR_UNABLE_TO_GET_ISSUER_CERT:
    case X509_V_ERR_UNABLE_TO_GET_ISSUER_CERT_LOCALLY:
    case X509_V_ERR_UNABLE_TO_VERIFY_LEAF_SIGNATURE:
    case X509_V_ERR_CERT_SIGNATURE_FAILURE:
    case X509_V_ERR_DEPTH_ZERO_SELF_SIGNED_CERT:
    case X509_V_ERR_SELF_SIGNED_CERT_IN_CHAIN:
      return Distrust::kOtherAuthority;
    default:
      return Distrust::kOther;
  }
}

// Notes the first complaint and goes on. Nothing is sent to this peer, so nothing is risked.
int note_complaint(int fine, X509_STORE_CTX* chain) {
  auto* session =
      static_cast<SSL*>(X509_STORE_CTX_get_ex_data(chain, SSL_get_ex_data_X509_STORE_CTX_idx()));
  auto* finding = static_cast<TlsFinding*>(SSL_get_app_data(session));
  const int error = X509_STORE_CTX_get_error(chain);
  if (fine == 0 && finding->distrust == Distrust::kNone) {
    finding->distrust = distrust_of(error);
    finding->distrust_words = X509_verify_cert_error_string(error);
  }
  return 1;
}

asio::awaitable<Result<void>> read_exactly(TlsStream& stream, std::span<std::byte> into,
                                           TimePoint deadline) {
  while (!into.empty()) {
    const Result<std::size_t> count = stream.read(into);
    if (!count) co_return count.error();
    into = into.subspan(*count);
    if (*count > 0) continue;
    const Result<void> ready = co_await stream.wait_for_read(deadline);
    if (!ready) co_return ready.error();
  }
  co_return Result<void>();
}

// A TLS 1.3 client is done before its certificate has been looked at. What comes first tells: an
// alert, GOODBYE with the reason, or the ping of a session that waits for our HELLO.
asio::awaitable<Result<void>> hear(TlsStream& stream, TimePoint deadline) {
  std::array<std::byte, kFrameHeaderBytes> raw{};
  const Result<void> first = co_await read_exactly(stream, raw, deadline);
  if (!first) co_return first.error();
  const Result<FrameHeader> header = parse_header(raw);
  if (!header) co_return header.error();
  if (header->kind != MessageKind::kGoodbye) co_return Result<void>();
  Bytes control(std::min<std::size_t>(header->control_bytes, kMaxControlBytes));
  const Result<void> rest = co_await read_exactly(stream, control, deadline);
  if (!rest) co_return rest.error();
  co_return parse_goodbye(control);
}

asio::awaitable<void> look(const TlsContext& context, std::string host, std::uint16_t port,
                           Duration limit, TlsFinding& finding) {
  const TimePoint deadline = now() + limit;
  Result<asio::ip::tcp::socket> socket = co_await connect(host, port, deadline);
  if (!socket) {
    finding.handshake = socket.error();
    co_return;
  }
  TlsStream stream(std::move(*socket), context, kKeyUpdateBytes);
  SSL_set_app_data(stream.native(), &finding);
  SSL_set_verify(stream.native(), SSL_VERIFY_PEER, note_complaint);
  finding.handshake = co_await stream.handshake(deadline);
  const CertificateHandle shown(SSL_get1_peer_certificate(stream.native()));
  if (shown) finding.peer = facts_of(shown.get());
  if (finding.handshake && finding.distrust == Distrust::kNone)
    finding.admission = co_await hear(stream, deadline);
  co_await stream.finish(std::min(deadline, now() + kCloseDeadline));
}

}  // namespace

TcpFinding probe_tcp(const std::string& host, std::uint16_t port, Duration limit) {
  TcpFinding finding;
  const Addresses addresses(host, port, 0);
  if (addresses.first() == nullptr) return {Reach::kNoName, "", addresses.error()};
  for (const addrinfo* address = addresses.first(); address != nullptr;
       address = address->ai_next) {
    const int error = try_connect(*address, limit);
    finding = {reach_of(error), numeric(*address), error == 0 ? "" : std::strerror(error)};
    if (finding.reach == Reach::kConnected) break;
  }
  return finding;
}

TlsFinding probe_tls(const std::string& host, std::uint16_t port, const TlsContext& context,
                     Duration limit) {
  GODWIT_REQUIRE(context.side() == TlsSide::kClient, "a probe needs a client context");
  TlsFinding finding;
  asio::io_context io;
  asio::co_spawn(io, look(context, host, port, limit, finding),
                 [](const std::exception_ptr& failure) {
                   GODWIT_CHECK(!failure, "no exception leaves a probe");
                 });
  io.run();
  return finding;
}

bool is_own_address(const std::string& host) {
  const Addresses addresses(host, 0, AI_NUMERICHOST | AI_PASSIVE);
  if (addresses.first() == nullptr) return false;
  const Socket socket(addresses.first()->ai_family);
  return ::bind(socket.get(), addresses.first()->ai_addr, addresses.first()->ai_addrlen) == 0;
}

}  // namespace godwit::net
