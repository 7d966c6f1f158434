// Whom we believe and who we are: TLS 1.3 only, certificates on both sides, no tickets, no
// resumption, no early data. Contexts are immutable and shared by connections; any thread.
#pragma once

#include <filesystem>
#include <memory>
#include <string>

#include "shared/net/certificates.h"
#include "shared/net/identity.h"

struct ssl_ctx_st;
struct ssl_st;
struct x509_st;

namespace godwit::net {

// AES-128-GCM first: the fastest everywhere that has AES instructions.
inline constexpr const char* kDefaultCipherSuites =
    "TLS_AES_128_GCM_SHA256:TLS_AES_256_GCM_SHA384:TLS_CHACHA20_POLY1305_SHA256";

struct TlsOptions {
  std::string authority_pem;  // peers must be signed by one of these
  CertifiedKey own;
  std::string cipher_suites = kDefaultCipherSuites;
};

// Reads three PEM files. kConfig names the file that is missing.
Result<TlsOptions> load_tls_options(const std::filesystem::path& authority,
                                    const std::filesystem::path& certificate,
                                    const std::filesystem::path& private_key);

enum class TlsSide { kServer, kClient };

// For one side of many connections.
class TlsContext {
 public:
  // kConfig: PEM that does not parse, a key that does not fit, our own certificate without exactly
  // one identity.
  static Result<TlsContext> create(TlsSide side, const TlsOptions& options);

  TlsSide side() const { return side_; }
  const Identity& own_identity() const { return own_identity_; }
  ssl_ctx_st* native() const { return context_.get(); }

 private:
  TlsContext(TlsSide side, std::shared_ptr<ssl_ctx_st> context, Identity own_identity);

  TlsSide side_;
  std::shared_ptr<ssl_ctx_st> context_;
  Identity own_identity_;
};

// After a handshake: the peer's identity. kUnauthenticated: no certificate, a certificate of an
// authority, or not exactly one URI name of our form. OpenSSL has checked chain, dates and purpose.
Result<Identity> peer_identity(const ssl_st* session);

// The one identity of a certificate of a peer. kUnauthenticated: an authority's, or not exactly one
// URI name of our form.
Result<Identity> certificate_identity(x509_st* certificate);

// After a failed call on `session`: what went wrong, in our words. kUnauthenticated: certificates;
// kUnsupported: protocol version; kMalformed: not TLS; kClosed: the stream ended.
Error describe_tls_failure(const ssl_st* session, int ssl_error);

}  // namespace godwit::net
