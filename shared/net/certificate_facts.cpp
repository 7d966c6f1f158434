#include "shared/net/certificate_facts.h"

#include <array>
#include <ctime>

#include "shared/net/openssl_handles.h"
#include "shared/net/tls.h"

namespace godwit::net {
namespace {

std::chrono::system_clock::time_point read_time(const ASN1_TIME* time) {
  std::tm parts{};
  if (ASN1_TIME_to_tm(time, &parts) != 1) return {};
  return std::chrono::system_clock::from_time_t(::timegm(&parts));
}

std::string common_name(const X509_NAME* name) {
  std::array<char, 256> text{};
  const int length =
      X509_NAME_get_text_by_NID(name, NID_commonName, text.data(), static_cast<int>(text.size()));
  return length < 0 ? "" : std::string(text.data(), static_cast<std::size_t>(length));
}

}  // namespace

CertificateFacts facts_of(x509_st* certificate) {
  CertificateFacts facts;
  facts.issuer = common_name(X509_get_issuer_name(certificate));
  facts.not_before = read_time(X509_get0_notBefore(certificate));
  facts.not_after = read_time(X509_get0_notAfter(certificate));
  facts.identity = certificate_identity(certificate);
  return facts;
}

Result<CertificateFacts> read_certificate_facts(std::string_view pem) {
  const CertificateHandle certificate = read_certificate(pem);
  if (!certificate) return Error{Errc::kConfig, "no certificate in PEM: " + last_openssl_error()};
  return facts_of(certificate.get());
}

bool is_signed_by(std::string_view pem, std::string_view authority_pem) {
  const CertificateHandle certificate = read_certificate(pem);
  const CertificateHandle authority = read_certificate(authority_pem);
  const bool is_signed = certificate && authority &&
                         X509_verify(certificate.get(), X509_get0_pubkey(authority.get())) == 1;
  ERR_clear_error();
  return is_signed;
}

bool is_key_of(std::string_view private_key_pem, std::string_view pem) {
  const CertificateHandle certificate = read_certificate(pem);
  const KeyHandle key = read_private_key(private_key_pem);
  const bool fits =
      certificate && key && EVP_PKEY_eq(X509_get0_pubkey(certificate.get()), key.get()) == 1;
  ERR_clear_error();
  return fits;
}

}  // namespace godwit::net
