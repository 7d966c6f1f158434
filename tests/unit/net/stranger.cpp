#include "tests/unit/net/stranger.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include <array>

#include "shared/net/openssl_handles.h"

namespace godwit::net {
namespace {

using ContextHandle = std::unique_ptr<SSL_CTX, Releaser<SSL_CTX_free>>;

void limit_waits(int descriptor) {
  const timeval limit{10, 0};
  ::setsockopt(descriptor, SOL_SOCKET, SO_RCVTIMEO, &limit, sizeof(limit));
  ::setsockopt(descriptor, SOL_SOCKET, SO_SNDTIMEO, &limit, sizeof(limit));
}

sockaddr_in loopback(std::uint16_t port) {
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_port = htons(port);
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  return address;
}

// With the chain that may follow the certificate. Nothing is too weak to be shown.
void show(SSL_CTX* context, const CertifiedKey& own) {
  const BioHandle pem = bio_over(own.certificate_pem);
  SSL_CTX_use_certificate(context, CertificateHandle(PEM_read_bio_X509(pem.get(), nullptr, nullptr, nullptr)).get());
  while (X509* const next = PEM_read_bio_X509(pem.get(), nullptr, nullptr, nullptr)) {
    SSL_CTX_add_extra_chain_cert(context, next);  // takes it over
  }
  SSL_CTX_use_PrivateKey(context, read_private_key(own.private_key_pem).get());
  ERR_clear_error();
}

ContextHandle make_context(const SSL_METHOD* method, const std::optional<CertifiedKey>& own) {
  ContextHandle context(SSL_CTX_new(method));
  SSL_CTX_set_verify(context.get(), SSL_VERIFY_NONE, nullptr);
  SSL_CTX_set_security_level(context.get(), 0);
  if (own) show(context.get(), *own);
  return context;
}

void listen_to(SSL* ssl, std::size_t enough, Encounter& encounter) {
  std::array<std::byte, 4096> buffer;
  std::size_t count = 0;
  while (encounter.received.size() < enough) {
    if (SSL_read_ex(ssl, buffer.data(), buffer.size(), &count) != 1) {
      if (SSL_get_error(ssl, 0) != SSL_ERROR_ZERO_RETURN) encounter.failure = last_openssl_error();
      return;
    }
    encounter.received.insert(encounter.received.end(), buffer.begin(), buffer.begin() + count);
  }
}

void talk(const Stranger& stranger, SSL* ssl, Encounter& encounter) {
  if (SSL_connect(ssl) != 1) {
    encounter.failure = last_openssl_error();
    return;
  }
  std::size_t count = 0;
  if (!stranger.send.empty()) {
    SSL_write_ex(ssl, stranger.send.data(), stranger.send.size(), &count);
  }
  if (!stranger.leave) listen_to(ssl, stranger.enough, encounter);
}

}  // namespace

int connect_to(std::uint16_t port) {
  const int descriptor = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  limit_waits(descriptor);
  sockaddr_in address = loopback(port);
  GODWIT_CHECK(::connect(descriptor, reinterpret_cast<sockaddr*>(&address), sizeof(address)) == 0,
               "cannot reach the listener");
  return descriptor;
}

SslHandle client_session(const std::optional<CertifiedKey>& own, int descriptor) {
  const ContextHandle context = make_context(TLS_client_method(), own);
  SslHandle ssl(SSL_new(context.get()));
  SSL_set_fd(ssl.get(), descriptor);
  return ssl;
}

NoPipeSignal::NoPipeSignal() {
  sigset_t pipe;
  ::sigemptyset(&pipe);
  ::sigaddset(&pipe, SIGPIPE);
  ::pthread_sigmask(SIG_BLOCK, &pipe, &before_);
}

NoPipeSignal::~NoPipeSignal() {
  sigset_t pipe;
  ::sigemptyset(&pipe);
  ::sigaddset(&pipe, SIGPIPE);
  const timespec at_once{};
  while (::sigtimedwait(&pipe, nullptr, &at_once) > 0) continue;
  ::pthread_sigmask(SIG_SETMASK, &before_, nullptr);
}

Encounter visit(const Stranger& stranger) {
  const NoPipeSignal no_pipe_signal;
  Encounter encounter;
  const int descriptor = connect_to(stranger.port);
  if (!stranger.before_tls.empty()) {
    ::send(descriptor, stranger.before_tls.data(), stranger.before_tls.size(), MSG_NOSIGNAL);
  }
  if (stranger.tls) {
    const SslHandle ssl = client_session(stranger.own, descriptor);
    if (stranger.newest_tls != 0) SSL_set_max_proto_version(ssl.get(), stranger.newest_tls);
    talk(stranger, ssl.get(), encounter);
  } else {
    std::array<std::byte, 4096> buffer;
    while (::recv(descriptor, buffer.data(), buffer.size(), 0) > 0) continue;
  }
  ::close(descriptor);
  return encounter;
}

Encounter receive_caller(int listening, const CertifiedKey& own) {
  const NoPipeSignal no_pipe_signal;
  Encounter encounter;
  const int descriptor = ::accept(listening, nullptr, nullptr);
  limit_waits(descriptor);
  const ContextHandle context = make_context(TLS_server_method(), own);
  const SslHandle ssl(SSL_new(context.get()));
  SSL_set_fd(ssl.get(), descriptor);
  if (SSL_accept(ssl.get()) == 1) {
    listen_to(ssl.get(), ~std::size_t{0}, encounter);
  } else {
    encounter.failure = last_openssl_error();
  }
  ::close(descriptor);
  return encounter;
}

int listen_anywhere() {
  const int descriptor = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  sockaddr_in address = loopback(0);
  GODWIT_CHECK(::bind(descriptor, reinterpret_cast<sockaddr*>(&address), sizeof(address)) == 0 &&
                   ::listen(descriptor, 8) == 0,
               "cannot listen on the loopback");
  return descriptor;
}

std::uint16_t port_of(int descriptor) {
  sockaddr_in address{};
  socklen_t size = sizeof(address);
  ::getsockname(descriptor, reinterpret_cast<sockaddr*>(&address), &size);
  return ntohs(address.sin_port);
}

}  // namespace godwit::net
