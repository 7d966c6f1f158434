// A client that keeps none of our rules: plain sockets and OpenSSL, blocking, for a thread of its
// own.
#pragma once

#include <csignal>
#include <optional>
#include <string>

#include "shared/base/bytes.h"
#include "shared/net/certificates.h"
#include "shared/net/openssl_handles.h"

namespace godwit::net {

struct Stranger {
  std::uint16_t port = 0;
  Bytes before_tls;  // sent in the clear; then nothing but reading
  bool tls = true;
  int newest_tls = 0;               // TLS1_2_VERSION, ...; 0: any
  std::optional<CertifiedKey> own;  // shown to the server, with all certificates that follow in its PEM
  Bytes send;                       // inside TLS
  bool leave = false;               // close after sending, without reading
  std::size_t enough = ~std::size_t{0};  // close once so many bytes came back
};

struct Encounter {
  std::string failure;  // OpenSSL's words; empty: the server closed in peace
  Bytes received;       // inside TLS
};

// Returns when the server has closed, at the latest after ten seconds.
Encounter visit(const Stranger& stranger);

// OpenSSL writes to sockets that the other side may have closed: while this lives, its thread gets no SIGPIPE for it.
// The process does not ignore it, since the code under test must do without.
class NoPipeSignal {
 public:
  NoPipeSignal();
  ~NoPipeSignal();
  NoPipeSignal(const NoPipeSignal&) = delete;
  NoPipeSignal& operator=(const NoPipeSignal&) = delete;

 private:
  sigset_t before_{};
};

// Its parts, for those who do not take turns: a connected socket whose calls take ten seconds at most, and a session
// over it, in front of its handshake.
int connect_to(std::uint16_t port);
SslHandle client_session(const std::optional<CertifiedKey>& own, int descriptor);

// The other end: whoever calls `descriptor`, a listening socket, next meets a server with this certificate. Returns
// when the caller has closed; what it said inside TLS is in Encounter::received.
Encounter receive_caller(int descriptor, const CertifiedKey& own);
// On 127.0.0.1, any free port.
int listen_anywhere();
std::uint16_t port_of(int descriptor);

}  // namespace godwit::net
