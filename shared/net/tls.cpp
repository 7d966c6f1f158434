#include "shared/net/tls.h"

#include <cerrno>
#include <cstring>
#include <fstream>
#include <iterator>

#include "shared/net/openssl_handles.h"

namespace godwit::net {
namespace {

// Read-ahead buffer of a connection, in bytes: fewer system calls; more memory per connection.
constexpr std::size_t kReadBufferBytes = 128u << 10;

// 112 bits: no RSA below 2048, no SHA-1. Said here, since a system's own configuration may say less.
constexpr int kSecurityLevel = 2;

Error bad_configuration(std::string_view what) {
  return Error{Errc::kConfig, "TLS: " + std::string(what) + ": " + last_openssl_error()};
}

Result<std::string> read_file(const std::filesystem::path& file) {
  std::ifstream in(file, std::ios::binary);
  std::string text((std::istreambuf_iterator<char>(in)), std::istreambuf_iterator<char>());
  if (!in || text.empty()) {
    return Error{Errc::kConfig, "TLS: cannot read " + file.string() +
                                    "; `godwit init` writes it, and the process needs read access"};
  }
  return text;
}

Result<void> trust(SSL_CTX* context, const std::string& authority_pem) {
  X509_STORE* store = SSL_CTX_get_cert_store(context);
  const BioHandle pem = bio_over(authority_pem);
  int count = 0;
  while (
      const CertificateHandle authority{PEM_read_bio_X509(pem.get(), nullptr, nullptr, nullptr)}) {
    if (X509_STORE_add_cert(store, authority.get()) != 1) return bad_configuration("adding the CA");
    ++count;
  }
  if (count == 0) return bad_configuration("the CA file holds no certificate");
  ERR_clear_error();  // the loop ends by an expected error
  return {};
}

Result<Identity> present(SSL_CTX* context, const CertifiedKey& own) {
  const CertificateHandle certificate = read_certificate(own.certificate_pem);
  const KeyHandle key = read_private_key(own.private_key_pem);
  if (!certificate) return bad_configuration("our certificate does not parse");
  if (!key) return bad_configuration("our private key does not parse");
  if (SSL_CTX_use_certificate(context, certificate.get()) != 1 ||
      SSL_CTX_use_PrivateKey(context, key.get()) != 1 || SSL_CTX_check_private_key(context) != 1) {
    return bad_configuration("our certificate and private key do not fit");
  }
  Result<Identity> identity = certificate_identity(certificate.get());
  if (!identity) return Error{Errc::kConfig, "TLS: our own " + identity.error().context};
  return identity;
}

bool set_profile(SSL_CTX* context, const std::string& cipher_suites) {
  SSL_CTX_set_security_level(context, kSecurityLevel);
  SSL_CTX_set_verify(context, SSL_VERIFY_PEER | SSL_VERIFY_FAIL_IF_NO_PEER_CERT, nullptr);
  SSL_CTX_set_session_cache_mode(context, SSL_SESS_CACHE_OFF);
  SSL_CTX_set_read_ahead(context, 1);
  SSL_CTX_set_default_read_buffer_len(context, kReadBufferBytes);
  return SSL_CTX_set_min_proto_version(context, TLS1_3_VERSION) == 1 &&
         SSL_CTX_set_max_proto_version(context, TLS1_3_VERSION) == 1 &&
         SSL_CTX_set_num_tickets(context, 0) == 1 && SSL_CTX_set_max_early_data(context, 0) == 1 &&
         SSL_CTX_set_ciphersuites(context, cipher_suites.c_str()) == 1;
}

// What went wrong deep inside is queued first, such as "EVP lib"; what it means for the session comes after it.
unsigned long most_telling_error() {
  unsigned long telling = ERR_get_error();
  while (telling != 0 && ERR_GET_LIB(telling) != ERR_LIB_SSL) {
    const unsigned long next = ERR_get_error();
    if (next == 0) break;
    if (ERR_GET_LIB(next) == ERR_LIB_SSL) telling = next;
  }
  ERR_clear_error();
  return telling;
}

Error describe_reason(const ssl_st* session, int reason) {
  const auto unauthenticated = [](std::string why) {
    return Error{Errc::kUnauthenticated, "TLS: " + std::move(why)};
  };
  switch (reason) {
    case SSL_R_CERTIFICATE_VERIFY_FAILED:
      return unauthenticated(std::string("the peer's certificate is refused: ") +
                             X509_verify_cert_error_string(SSL_get_verify_result(session)) +
                             "; both sides need unexpired certificates of the same cluster CA");
    case SSL_R_PEER_DID_NOT_RETURN_A_CERTIFICATE:
      return unauthenticated("the peer sent no certificate; give it one of this cluster");
    case SSL_R_BAD_SIGNATURE:
      return unauthenticated("the peer does not hold the key of its certificate; give it both files of one pair");
    case SSL_R_TLSV13_ALERT_CERTIFICATE_REQUIRED:
    case SSL_R_TLSV1_ALERT_UNKNOWN_CA:
    case SSL_R_SSLV3_ALERT_BAD_CERTIFICATE:
    case SSL_R_SSLV3_ALERT_CERTIFICATE_EXPIRED:
    case SSL_R_SSLV3_ALERT_CERTIFICATE_UNKNOWN:
    case SSL_R_SSLV3_ALERT_UNSUPPORTED_CERTIFICATE:
      return unauthenticated(std::string("the peer refuses our certificate: ") +
                             ERR_reason_error_string(ERR_PACK(ERR_LIB_SSL, 0, reason)) +
                             "; issue an unexpired one with the cluster's CA");
    case SSL_R_UNSUPPORTED_PROTOCOL:
    case SSL_R_TLSV1_ALERT_PROTOCOL_VERSION:
      return Error{Errc::kUnsupported, "TLS: only version 1.3 is spoken here"};
    case SSL_R_UNEXPECTED_EOF_WHILE_READING:
      return Error{Errc::kClosed, "the peer vanished without a word: killed, or the link was cut"};
    default:
      return Error{Errc::kMalformed, std::string("TLS: ") +
                                         ERR_reason_error_string(ERR_PACK(ERR_LIB_SSL, 0, reason))};
  }
}

}  // namespace

Result<Identity> certificate_identity(X509* certificate) {
  const auto refused = [](std::string_view why) {
    return Error{Errc::kUnauthenticated,
                 "certificate: " + std::string(why) + "; issue one with `godwit init`"};
  };
  const bool says_authority = (X509_get_extension_flags(certificate) & EXFLAG_CA) != 0;
  if (says_authority || X509_check_ca(certificate) != 0) {
    return refused("it is an authority, not a leaf");
  }
  if ((X509_get_key_usage(certificate) & KU_DIGITAL_SIGNATURE) == 0) {
    return refused("its key is not for signatures, without which nobody proves to hold it");
  }
  const NamesHandle names(static_cast<GENERAL_NAMES*>(
      X509_get_ext_d2i(certificate, NID_subject_alt_name, nullptr, nullptr)));
  const GENERAL_NAME* uri = nullptr;
  for (int i = 0; names && i < sk_GENERAL_NAME_num(names.get()); ++i) {
    const GENERAL_NAME* entry = sk_GENERAL_NAME_value(names.get(), i);
    if (entry->type != GEN_URI) continue;
    if (uri != nullptr) return refused("it carries more than one URI name");
    uri = entry;
  }
  if (uri == nullptr) return refused("it carries no URI name");
  const ASN1_IA5STRING* text = uri->d.uniformResourceIdentifier;
  const std::string_view characters(reinterpret_cast<const char*>(ASN1_STRING_get0_data(text)),
                                    static_cast<std::size_t>(ASN1_STRING_length(text)));
  Result<Identity> identity = parse_identity(characters);
  if (!identity) return refused(identity.error().context);
  return identity;
}

Result<TlsOptions> load_tls_options(const std::filesystem::path& authority,
                                    const std::filesystem::path& certificate,
                                    const std::filesystem::path& private_key) {
  Result<std::string> authority_pem = read_file(authority);
  if (!authority_pem) return authority_pem.error();
  Result<std::string> certificate_pem = read_file(certificate);
  if (!certificate_pem) return certificate_pem.error();
  Result<std::string> key_pem = read_file(private_key);
  if (!key_pem) return key_pem.error();
  TlsOptions options;
  options.authority_pem = std::move(*authority_pem);
  options.own = CertifiedKey{std::move(*certificate_pem), std::move(*key_pem)};
  return options;
}

TlsContext::TlsContext(TlsSide side, std::shared_ptr<ssl_ctx_st> context, Identity own_identity)
    : side_(side), context_(std::move(context)), own_identity_(std::move(own_identity)) {}

Result<TlsContext> TlsContext::create(TlsSide side, const TlsOptions& options) {
  ERR_clear_error();
  const SSL_METHOD* method = side == TlsSide::kServer ? TLS_server_method() : TLS_client_method();
  const std::shared_ptr<SSL_CTX> context(SSL_CTX_new(method), SSL_CTX_free);
  if (!context || !set_profile(context.get(), options.cipher_suites)) {
    return bad_configuration("setting up; cipher suites are \"" + options.cipher_suites + "\"");
  }
  const Result<void> trusted = trust(context.get(), options.authority_pem);
  if (!trusted) return trusted.error();
  Result<Identity> own = present(context.get(), options.own);
  if (!own) return own.error();
  return TlsContext(side, context, std::move(*own));
}

Result<Identity> peer_identity(const ssl_st* session) {
  const CertificateHandle leaf(SSL_get1_peer_certificate(session));
  if (!leaf) return Error{Errc::kUnauthenticated, "the peer sent no certificate"};
  return certificate_identity(leaf.get());
}

Error describe_tls_failure(const ssl_st* session, int ssl_error) {
  const int system_error = errno;
  const unsigned long code = most_telling_error();
  if (ssl_error == SSL_ERROR_ZERO_RETURN) return Error{Errc::kClosed, "the peer closed the stream"};
  if (code == 0) {
    return Error{Errc::kClosed,
                 std::string("the stream broke: ") +
                     (system_error != 0 ? std::strerror(system_error) : "end of file")};
  }
  if (ERR_GET_LIB(code) == ERR_LIB_SSL) return describe_reason(session, ERR_GET_REASON(code));
  const char* text = ERR_reason_error_string(code);
  return Error{Errc::kMalformed,
               std::string("TLS: ") + (text != nullptr ? text : "unknown failure")};
}

}  // namespace godwit::net
