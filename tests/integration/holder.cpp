#include "tests/integration/holder.h"

#include <sys/socket.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <utility>

namespace godwit::integration {

Holder::Holder(std::uint16_t port, ByteView plain) : descriptor_(net::connect_to(port)) {
  ::send(descriptor_, plain.data(), plain.size(), MSG_NOSIGNAL);
}

Holder::Holder(std::uint16_t port, const net::CertifiedKey& own, ByteView secret)
    : descriptor_(net::connect_to(port)), ssl_(net::client_session(own, descriptor_)) {
  const net::NoPipeSignal no_pipe_signal;
  std::size_t count = 0;
  if (SSL_connect(ssl_.get()) == 1 && !secret.empty()) {
    SSL_write_ex(ssl_.get(), secret.data(), secret.size(), &count);
  }
  ERR_clear_error();
}

Holder::~Holder() {
  if (descriptor_ >= 0) ::close(descriptor_);
}

Holder::Holder(Holder&& other) noexcept
    : descriptor_(std::exchange(other.descriptor_, -1)), ssl_(std::move(other.ssl_)) {}

void Holder::drip() {
  const std::byte one{'x'};
  ::send(descriptor_, &one, 1, MSG_NOSIGNAL | MSG_DONTWAIT);
}

bool Holder::closed() {
  std::array<std::byte, 4096> unwanted;
  for (;;) {
    const ssize_t count = ::recv(descriptor_, unwanted.data(), unwanted.size(), MSG_DONTWAIT);
    if (count == 0) return true;
    if (count < 0) return errno != EAGAIN && errno != EINTR;
  }
}

Bytes client_hello() {
  const std::unique_ptr<SSL_CTX, net::Releaser<SSL_CTX_free>> context(SSL_CTX_new(TLS_client_method()));
  const net::SslHandle ssl(SSL_new(context.get()));
  BIO* const in = BIO_new(BIO_s_mem());
  BIO* const out = BIO_new(BIO_s_mem());
  SSL_set_bio(ssl.get(), in, out);  // takes both over
  SSL_connect(ssl.get());
  ERR_clear_error();
  char* text = nullptr;
  const long size = BIO_get_mem_data(out, &text);
  return copy(view(std::string_view(text, static_cast<std::size_t>(size))));
}

}  // namespace godwit::integration
