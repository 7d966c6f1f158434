// A client that keeps none of our rules: plain sockets and OpenSSL, blocking, for a thread of its
// own.
#pragma once

#include <optional>
#include <string>

#include "shared/base/bytes.h"
#include "shared/net/certificates.h"

namespace godwit::net {

struct Stranger {
  std::uint16_t port = 0;
  Bytes before_tls;  // sent in the clear; then nothing but reading
  bool tls = true;
  bool only_tls_1_2 = false;
  std::optional<CertifiedKey> own;  // shown to the server
  Bytes send;                       // inside TLS
  bool leave = false;               // close after sending, without reading
};

struct Encounter {
  std::string failure;  // OpenSSL's words; empty: the server closed in peace
  Bytes received;       // inside TLS
};

// Returns when the server has closed, at the latest after ten seconds.
Encounter visit(const Stranger& stranger);

}  // namespace godwit::net
