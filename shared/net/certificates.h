// Makes the certificates of a cluster: one authority, and leaves that carry one Identity each. EC
// P-256 keys. Used by `godwit init` and by tests; nothing here runs in a server.
#pragma once

#include <chrono>
#include <filesystem>
#include <vector>

#include "shared/net/identity.h"

namespace godwit::net {

struct Validity {
  std::chrono::system_clock::time_point not_before;
  std::chrono::system_clock::time_point not_after;
};
// From five minutes ago (clocks differ) for so many days.
Validity valid_for_days(int days);

struct CertifiedKey {
  std::string certificate_pem;
  std::string private_key_pem;  // PKCS#8, not encrypted: keep it in a file of mode 0600
};

// A self-signed authority, allowed to sign leaves only. kInternal: OpenSSL failed.
Result<CertifiedKey> create_authority(std::string_view cluster, Validity validity);

// Any leaf that the authority can sign; `uri_names` go into the certificate unchecked. A peer
// accepts only leaves with exactly one valid name: use the overload below.
struct LeafRequest {
  std::string common_name;
  std::vector<std::string> uri_names;
  Validity validity;
  bool is_authority = false;
};
Result<CertifiedKey> issue_certificate(const CertifiedKey& authority, const LeafRequest& request);
// For client and server use. kConfig: the authority's PEM does not parse.
Result<CertifiedKey> issue_certificate(const CertifiedKey& authority, const Identity& identity,
                                       Validity validity);

// Creates `file` with mode 0600. kIo: it exists already, or cannot be written.
Result<void> write_private_file(const std::filesystem::path& file, std::string_view text);

}  // namespace godwit::net
