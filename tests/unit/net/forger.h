// Forger: certificates that `godwit init` never writes, down to the ones that OpenSSL has to be talked into.
#pragma once

#include <string>
#include <vector>

#include "shared/net/certificates.h"
#include "shared/net/openssl_handles.h"

namespace godwit::net {

// A name of a certificate: GEN_URI, GEN_DNS or GEN_EMAIL, and any bytes at all.
struct ForgedName {
  int type = GEN_URI;
  std::string text;
};

enum class ForgedKey { kEc256, kRsa1024 };

// What is good about it unless said otherwise. An extension that is null is left out.
struct Forgery {
  std::string common_name = "someone";
  std::vector<ForgedName> names;
  std::vector<ForgedName> more_names;  // in a second extension of the same kind
  Validity validity = valid_for_days(1);
  const char* constraints = "critical,CA:FALSE";
  const char* key_usage = "critical,digitalSignature";
  const char* purpose = "serverAuth,clientAuth";
  const char* name_constraints = nullptr;
  const EVP_MD* digest = EVP_sha256();
  ForgedKey key = ForgedKey::kEc256;
  bool unknown_critical_extension = false;
  std::size_t padding_bytes = 0;  // of an extension that means nothing
};

// Signed by `issuer`; by its own key where `issuer` is null.
CertifiedKey forge(const Forgery& forgery, const CertifiedKey* issuer);

// The same certificate with one bit of its signature turned.
CertifiedKey with_broken_signature(const CertifiedKey& own);
// A private key that claims to be that of the certificate, and is not.
CertifiedKey with_stolen_certificate(const CertifiedKey& own);
// Followed by the certificate of `issuer`: what a peer sends along.
CertifiedKey with_chain(const CertifiedKey& own, const CertifiedKey& issuer);

}  // namespace godwit::net
