// What a certificate says of itself, for people who look for a mistake. Believes nothing and
// decides nothing: tls.h does.
#pragma once

#include <chrono>
#include <string>
#include <string_view>

#include "shared/net/identity.h"

struct x509_st;

namespace godwit::net {

struct CertificateFacts {
  std::string issuer;  // common name
  std::chrono::system_clock::time_point not_before;
  std::chrono::system_clock::time_point not_after;
  Result<Identity> identity = Error{};  // an error says why it is no certificate for a peer
};

CertificateFacts facts_of(x509_st* certificate);
// Of the first certificate in the text. kConfig: it holds none.
Result<CertificateFacts> read_certificate_facts(std::string_view pem);

// Whether the first certificate carries a signature of the first one in `authority_pem`; dates
// aside.
bool is_signed_by(std::string_view pem, std::string_view authority_pem);
// Whether the private key is the one of the certificate.
bool is_key_of(std::string_view private_key_pem, std::string_view pem);

}  // namespace godwit::net
