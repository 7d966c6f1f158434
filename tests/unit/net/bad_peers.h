// Who must not come in: one table for every port that speaks TLS, and for both ends of a connection.
#pragma once

#include <vector>

#include "tests/unit/net/stranger.h"

namespace godwit::net {

struct BadPeer {
  enum Fault {
    kOfCaller,     // only who calls can be guilty of it
    kOfServer,     // only who is called
    kCertificate,  // a certificate that nobody believes
    kIdentity,     // a sound certificate of somebody else
  };
  std::string name;
  Fault fault;
  Stranger stranger;   // how to be it; port and words are the test's
  std::string reason;  // that must be given for the refusal; kIdentity: by a server, a caller says whom it wanted
};

// `welcome`: who would be let in, as a holder of a certificate of `authority`. `other_region`: of the cluster, and
// not one that somebody of welcome's role is let in from.
std::vector<BadPeer> bad_peers(const CertifiedKey& authority, const Identity& welcome,
                               const std::string& other_region);

}  // namespace godwit::net
