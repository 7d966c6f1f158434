// Tries an address one step after the other, as a person does who wants to know why a peer cannot
// be reached: name, TCP, TLS, and what the peer says to our certificate. Blocking, each step with a
// limit. Sends no payload, not even HELLO: to the peer it is a connection that closed at once.
#pragma once

#include <optional>
#include <string>

#include "shared/base/time.h"
#include "shared/net/certificate_facts.h"
#include "shared/net/tls.h"

namespace godwit::net {

enum class Reach : unsigned char {
  kConnected,
  kNoName,       // the name has no address
  kRefused,      // a machine is there, nothing listens
  kTimedOut,     // no answer at all: dropped on the way
  kUnreachable,  // a machine or router says that there is no way
  kOther,
};

struct TcpFinding {
  Reach reach = Reach::kOther;
  std::string address;  // numeric; of the last address tried
  std::string words;    // the system's
};
TcpFinding probe_tcp(const std::string& host, std::uint16_t port, Duration limit);

enum class Distrust : unsigned char { kNone, kExpired, kNotYetValid, kOtherAuthority, kOther };

struct TlsFinding {
  Result<void> handshake = Error{};
  std::optional<CertificateFacts> peer;  // what it showed
  Distrust distrust = Distrust::kNone;   // why a real connection would not believe it
  std::string distrust_words;            // OpenSSL's
  Result<void> admission = Error{};      // what the peer says to us; kTimedOut: nothing
};
// `context`: ours, as a client. Where our side would refuse the peer, the handshake goes on, to see
// more.
TlsFinding probe_tls(const std::string& host, std::uint16_t port, const TlsContext& context,
                     Duration limit);

// Whether a server of this machine may listen there: a numeric address that one of its interfaces
// has.
bool is_own_address(const std::string& host);

}  // namespace godwit::net
