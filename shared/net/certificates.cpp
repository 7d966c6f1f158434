#include "shared/net/certificates.h"

#include <fcntl.h>
#include <openssl/rand.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstring>

#include "shared/net/openssl_handles.h"

namespace godwit::net {
namespace {

// Longest common name that X.509 allows, in characters; the identity is in the URI, not here.
constexpr std::size_t kMaxCommonName = 64;
constexpr std::size_t kSerialBytes = 16;

Error failed(std::string_view what) {
  return Error{Errc::kInternal, std::string(what) + ": " + last_openssl_error()};
}

std::string take_text(BIO* bio) {
  char* data = nullptr;
  const long count = BIO_get_mem_data(bio, &data);
  return std::string(data, static_cast<std::size_t>(count));
}

bool set_random_serial(X509* certificate) {
  std::array<unsigned char, kSerialBytes> raw{};
  if (RAND_bytes(raw.data(), raw.size()) != 1) return false;
  raw[0] &= 0x7f;  // positive
  const NumberHandle number(BN_bin2bn(raw.data(), raw.size(), nullptr));
  return number && BN_to_ASN1_INTEGER(number.get(), X509_get_serialNumber(certificate)) != nullptr;
}

bool set_time(ASN1_TIME* field, std::chrono::system_clock::time_point time) {
  return ASN1_TIME_set(field, std::chrono::system_clock::to_time_t(time)) != nullptr;
}

bool set_subject(X509* certificate, std::string_view common_name) {
  const std::string text(common_name.substr(0, kMaxCommonName));
  return X509_NAME_add_entry_by_txt(X509_get_subject_name(certificate), "CN", MBSTRING_UTF8,
                                    reinterpret_cast<const unsigned char*>(text.data()),
                                    static_cast<int>(text.size()), -1, 0) == 1;
}

bool add_extension(X509* certificate, X509* issuer, int nid, const char* value) {
  X509V3_CTX context;
  X509V3_set_ctx(&context, issuer, certificate, nullptr, nullptr, 0);
  const ExtensionHandle extension(X509V3_EXT_conf_nid(nullptr, &context, nid, value));
  return extension && X509_add_ext(certificate, extension.get(), -1) == 1;
}

// Names are added as objects, not as configuration text, so that no character in them has a
// meaning.
bool add_uri_names(X509* certificate, const std::vector<std::string>& uris) {
  if (uris.empty()) return true;
  const NamesHandle names(GENERAL_NAMES_new());
  for (const std::string& uri : uris) {
    GENERAL_NAME* entry = GENERAL_NAME_new();
    ASN1_IA5STRING* text = ASN1_IA5STRING_new();
    ASN1_STRING_set(text, uri.data(), static_cast<int>(uri.size()));
    GENERAL_NAME_set0_value(entry, GEN_URI, text);
    sk_GENERAL_NAME_push(names.get(), entry);
  }
  return X509_add1_ext_i2d(certificate, NID_subject_alt_name, names.get(), 0, 0) == 1;
}

Result<CertifiedKey> to_pem(X509* certificate, EVP_PKEY* key) {
  const BioHandle certificate_text(BIO_new(BIO_s_mem()));
  const BioHandle key_text(BIO_new(BIO_s_mem()));
  if (PEM_write_bio_X509(certificate_text.get(), certificate) != 1 ||
      PEM_write_bio_PKCS8PrivateKey(key_text.get(), key, nullptr, nullptr, 0, nullptr, nullptr) !=
          1) {
    return failed("writing a certificate");
  }
  return CertifiedKey{take_text(certificate_text.get()), take_text(key_text.get())};
}

// The fields that authorities and leaves share.
CertificateHandle draft(EVP_PKEY* key, std::string_view common_name, Validity validity) {
  CertificateHandle certificate(X509_new());
  X509* raw = certificate.get();
  const bool filled =
      raw != nullptr && X509_set_version(raw, X509_VERSION_3) == 1 && set_random_serial(raw) &&
      set_subject(raw, common_name) && set_time(X509_getm_notBefore(raw), validity.not_before) &&
      set_time(X509_getm_notAfter(raw), validity.not_after) && X509_set_pubkey(raw, key) == 1;
  return filled ? std::move(certificate) : nullptr;
}

}  // namespace

Validity valid_for_days(int days) {
  const auto now = std::chrono::system_clock::now();
  return Validity{now - std::chrono::minutes(5), now + std::chrono::hours(24) * days};
}

Result<CertifiedKey> create_authority(std::string_view cluster, Validity validity) {
  const KeyHandle key(EVP_EC_gen("P-256"));
  if (!key) return failed("making a key");
  const CertificateHandle certificate =
      draft(key.get(), "Godwit CA " + std::string(cluster), validity);
  if (!certificate) return failed("filling the authority's certificate");
  X509* raw = certificate.get();
  const bool signed_ok =
      X509_set_issuer_name(raw, X509_get_subject_name(raw)) == 1 &&
      add_extension(raw, raw, NID_basic_constraints, "critical,CA:TRUE,pathlen:0") &&
      add_extension(raw, raw, NID_key_usage, "critical,keyCertSign,cRLSign") &&
      add_extension(raw, raw, NID_subject_key_identifier, "hash") &&
      X509_sign(raw, key.get(), EVP_sha256()) != 0;
  if (!signed_ok) return failed("signing the authority's certificate");
  return to_pem(raw, key.get());
}

Result<CertifiedKey> issue_certificate(const CertifiedKey& authority, const LeafRequest& request) {
  const CertificateHandle issuer = read_certificate(authority.certificate_pem);
  const KeyHandle issuer_key = read_private_key(authority.private_key_pem);
  if (!issuer || !issuer_key) {
    return Error{Errc::kConfig, "the authority's certificate or key is not PEM: " +
                                    last_openssl_error() + "; run `godwit init` again"};
  }
  const KeyHandle key(EVP_EC_gen("P-256"));
  if (!key) return failed("making a key");
  const CertificateHandle leaf = draft(key.get(), request.common_name, request.validity);
  if (!leaf) return failed("filling a certificate");
  X509* raw = leaf.get();
  const char* constraints = request.is_authority ? "critical,CA:TRUE" : "critical,CA:FALSE";
  const bool signed_ok =
      X509_set_issuer_name(raw, X509_get_subject_name(issuer.get())) == 1 &&
      add_extension(raw, issuer.get(), NID_basic_constraints, constraints) &&
      add_extension(raw, issuer.get(), NID_key_usage, "critical,digitalSignature") &&
      add_extension(raw, issuer.get(), NID_ext_key_usage, "serverAuth,clientAuth") &&
      add_extension(raw, issuer.get(), NID_subject_key_identifier, "hash") &&
      add_extension(raw, issuer.get(), NID_authority_key_identifier, "keyid") &&
      add_uri_names(raw, request.uri_names) && X509_sign(raw, issuer_key.get(), EVP_sha256()) != 0;
  if (!signed_ok) return failed("signing a certificate");
  return to_pem(raw, key.get());
}

Result<CertifiedKey> issue_certificate(const CertifiedKey& authority, const Identity& identity,
                                       Validity validity) {
  LeafRequest request;
  request.common_name = identity.name;
  request.uri_names = {format_identity(identity)};
  request.validity = validity;
  return issue_certificate(authority, request);
}

Result<void> write_private_file(const std::filesystem::path& file, std::string_view text) {
  const auto refused = [&file](std::string_view what) {
    return Error{Errc::kIo, std::string(what) + " " + file.string() + ": " + std::strerror(errno)};
  };
  const int descriptor = ::open(file.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
  if (descriptor < 0) return refused("creating");
  const ssize_t count = ::write(descriptor, text.data(), text.size());
  if (::close(descriptor) != 0 || count != static_cast<ssize_t>(text.size()))
    return refused("writing");
  return {};
}

}  // namespace godwit::net
