// Holder: a connection that is held and leads nowhere: it goes as far as it is told, and then says nothing more, or
// a byte at a time. Never blocks after it is made.
#pragma once

#include "shared/net/openssl_handles.h"
#include "tests/unit/net/stranger.h"

namespace godwit::integration {

class Holder {
 public:
  // Connects, and sends `plain` as it is.
  Holder(std::uint16_t port, ByteView plain);
  // Connects, shakes hands as the holder of `own`, and sends `secret` inside TLS.
  Holder(std::uint16_t port, const net::CertifiedKey& own, ByteView secret);
  ~Holder();
  Holder(Holder&& other) noexcept;
  Holder& operator=(Holder&&) = delete;

  void drip();    // one more byte of whatever, in the clear
  bool closed();  // the server has closed it, or reset it

 private:
  int descriptor_ = -1;
  net::SslHandle ssl_;
};

// What a TLS client says first.
Bytes client_hello();

}  // namespace godwit::integration
