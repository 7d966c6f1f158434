// Owners for OpenSSL objects, and the reason of its last failure. Internal to shared/net.
#pragma once

#include <openssl/bio.h>
#include <openssl/err.h>
#include <openssl/evp.h>
#include <openssl/pem.h>
#include <openssl/ssl.h>
#include <openssl/x509v3.h>

#include <memory>
#include <string>
#include <string_view>

namespace godwit::net {

template <auto release>
struct Releaser {
  template <class T>
  void operator()(T* object) const {
    release(object);
  }
};

using BioHandle = std::unique_ptr<BIO, Releaser<BIO_free_all>>;
using KeyHandle = std::unique_ptr<EVP_PKEY, Releaser<EVP_PKEY_free>>;
using CertificateHandle = std::unique_ptr<X509, Releaser<X509_free>>;
using ExtensionHandle = std::unique_ptr<X509_EXTENSION, Releaser<X509_EXTENSION_free>>;
using NumberHandle = std::unique_ptr<BIGNUM, Releaser<BN_free>>;
using SslHandle = std::unique_ptr<SSL, Releaser<SSL_free>>;
using NamesHandle = std::unique_ptr<GENERAL_NAMES, Releaser<GENERAL_NAMES_free>>;

// The oldest queued error of this thread in words; empties the queue.
inline std::string last_openssl_error() {
  const unsigned long code = ERR_get_error();
  ERR_clear_error();
  if (code == 0) return "no reason given";
  const char* reason = ERR_reason_error_string(code);
  return reason != nullptr ? reason : "OpenSSL error " + std::to_string(code);
}

inline BioHandle bio_over(std::string_view text) {
  return BioHandle(BIO_new_mem_buf(text.data(), static_cast<int>(text.size())));
}
inline CertificateHandle read_certificate(std::string_view pem) {
  return CertificateHandle(PEM_read_bio_X509(bio_over(pem).get(), nullptr, nullptr, nullptr));
}
// No passphrase is ever asked for: an encrypted key fails.
inline KeyHandle read_private_key(std::string_view pem) {
  const auto no_passphrase = [](char*, int, int, void*) { return -1; };
  return KeyHandle(PEM_read_bio_PrivateKey(bio_over(pem).get(), nullptr, no_passphrase, nullptr));
}

}  // namespace godwit::net
