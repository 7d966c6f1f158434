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

int connect_to(std::uint16_t port) {
  const int descriptor = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  const timeval limit{10, 0};
  ::setsockopt(descriptor, SOL_SOCKET, SO_RCVTIMEO, &limit, sizeof(limit));
  ::setsockopt(descriptor, SOL_SOCKET, SO_SNDTIMEO, &limit, sizeof(limit));
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_port = htons(port);
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  GODWIT_CHECK(::connect(descriptor, reinterpret_cast<sockaddr*>(&address), sizeof(address)) == 0,
               "cannot reach the listener");
  return descriptor;
}

ContextHandle make_context(const Stranger& stranger) {
  ContextHandle context(SSL_CTX_new(TLS_client_method()));
  SSL_CTX_set_verify(context.get(), SSL_VERIFY_NONE, nullptr);
  if (stranger.only_tls_1_2) SSL_CTX_set_max_proto_version(context.get(), TLS1_2_VERSION);
  if (stranger.own) {
    SSL_CTX_use_certificate(context.get(), read_certificate(stranger.own->certificate_pem).get());
    SSL_CTX_use_PrivateKey(context.get(), read_private_key(stranger.own->private_key_pem).get());
  }
  return context;
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
  if (stranger.leave) return;
  std::array<std::byte, 4096> buffer;
  while (SSL_read_ex(ssl, buffer.data(), buffer.size(), &count) == 1) {
    encounter.received.insert(encounter.received.end(), buffer.begin(), buffer.begin() + count);
  }
  if (SSL_get_error(ssl, 0) != SSL_ERROR_ZERO_RETURN) encounter.failure = last_openssl_error();
}

}  // namespace

Encounter visit(const Stranger& stranger) {
  Encounter encounter;
  const int descriptor = connect_to(stranger.port);
  if (!stranger.before_tls.empty()) {
    ::send(descriptor, stranger.before_tls.data(), stranger.before_tls.size(), MSG_NOSIGNAL);
  }
  if (stranger.tls) {
    const ContextHandle context = make_context(stranger);
    const SslHandle ssl(SSL_new(context.get()));
    SSL_set_fd(ssl.get(), descriptor);
    talk(stranger, ssl.get(), encounter);
  } else {
    std::array<std::byte, 4096> buffer;
    while (::recv(descriptor, buffer.data(), buffer.size(), 0) > 0) continue;
  }
  ::close(descriptor);
  return encounter;
}

}  // namespace godwit::net
