#include "tests/unit/net/forger.h"

#include <openssl/core_names.h>
#include <openssl/param_build.h>

#include <array>

namespace godwit::net {
namespace {

constexpr const char* kUnknownObject = "1.3.6.1.4.1.55555.1";

using ObjectHandle = std::unique_ptr<ASN1_OBJECT, Releaser<ASN1_OBJECT_free>>;
using OctetsHandle = std::unique_ptr<ASN1_OCTET_STRING, Releaser<ASN1_OCTET_STRING_free>>;

void require(bool done, int line = __builtin_LINE()) {
  GODWIT_CHECK(done, "forging a certificate, line " + std::to_string(line) + ": " + last_openssl_error());
}

std::string text_of(BIO* bio) {
  char* data = nullptr;
  const long count = BIO_get_mem_data(bio, &data);
  return std::string(data, static_cast<std::size_t>(count));
}

CertifiedKey to_pem(X509* certificate, EVP_PKEY* key) {
  const BioHandle certificate_text(BIO_new(BIO_s_mem())), key_text(BIO_new(BIO_s_mem()));
  require(PEM_write_bio_X509(certificate_text.get(), certificate) == 1);
  require(PEM_write_bio_PKCS8PrivateKey(key_text.get(), key, nullptr, nullptr, 0, nullptr, nullptr) == 1);
  return {text_of(certificate_text.get()), text_of(key_text.get())};
}

void set_time(ASN1_TIME* field, std::chrono::system_clock::time_point time) {
  require(ASN1_TIME_set(field, std::chrono::system_clock::to_time_t(time)) != nullptr);
}

void add(X509* certificate, X509* issuer, int nid, const char* value) {
  if (value == nullptr) return;
  X509V3_CTX context;
  X509V3_set_ctx(&context, issuer, certificate, nullptr, nullptr, 0);
  const ExtensionHandle extension(X509V3_EXT_conf_nid(nullptr, &context, nid, value));
  require(extension && X509_add_ext(certificate, extension.get(), -1) == 1);
}

void add_names(X509* certificate, const std::vector<ForgedName>& names) {
  if (names.empty()) return;
  const NamesHandle list(GENERAL_NAMES_new());
  for (const ForgedName& name : names) {
    GENERAL_NAME* const entry = GENERAL_NAME_new();
    ASN1_IA5STRING* const text = ASN1_IA5STRING_new();
    require(ASN1_STRING_set(text, name.text.data(), static_cast<int>(name.text.size())) == 1);
    GENERAL_NAME_set0_value(entry, name.type, text);
    sk_GENERAL_NAME_push(list.get(), entry);
  }
  const ExtensionHandle extension(X509V3_EXT_i2d(NID_subject_alt_name, 0, list.get()));
  require(extension && X509_add_ext(certificate, extension.get(), -1) == 1);
}

void add_unknown(X509* certificate, bool critical, std::size_t bytes) {
  const ObjectHandle object(OBJ_txt2obj(kUnknownObject, 1));
  const OctetsHandle octets(ASN1_OCTET_STRING_new());
  const std::string text(bytes, 'x');
  require(ASN1_OCTET_STRING_set(octets.get(), reinterpret_cast<const unsigned char*>(text.data()),
                                static_cast<int>(text.size())) == 1);
  const ExtensionHandle extension(
      X509_EXTENSION_create_by_OBJ(nullptr, object.get(), critical ? 1 : 0, octets.get()));
  require(extension && X509_add_ext(certificate, extension.get(), -1) == 1);
}

void set_subject(X509* certificate, const std::string& common_name) {
  require(X509_NAME_add_entry_by_txt(X509_get_subject_name(certificate), "CN", MBSTRING_UTF8,
                                     reinterpret_cast<const unsigned char*>(common_name.data()),
                                     static_cast<int>(common_name.size()), -1, 0) == 1);
}

KeyHandle make_key(ForgedKey kind) {
  KeyHandle key(kind == ForgedKey::kRsa1024 ? EVP_RSA_gen(1024) : EVP_EC_gen("P-256"));
  require(key != nullptr);
  return key;
}

}  // namespace

CertifiedKey forge(const Forgery& forgery, const CertifiedKey* issuer) {
  const KeyHandle key = make_key(forgery.key);
  const CertificateHandle certificate(X509_new());
  X509* const raw = certificate.get();
  const CertificateHandle above = issuer != nullptr ? read_certificate(issuer->certificate_pem) : nullptr;
  const KeyHandle key_above = issuer != nullptr ? read_private_key(issuer->private_key_pem) : nullptr;
  X509* const signer = above ? above.get() : raw;
  require(X509_set_version(raw, X509_VERSION_3) == 1);
  require(ASN1_INTEGER_set_uint64(X509_get_serialNumber(raw), 4711) == 1);
  set_subject(raw, forgery.common_name);
  require(X509_set_issuer_name(raw, X509_get_subject_name(signer)) == 1);
  set_time(X509_getm_notBefore(raw), forgery.validity.not_before);
  set_time(X509_getm_notAfter(raw), forgery.validity.not_after);
  require(X509_set_pubkey(raw, key.get()) == 1);
  add(raw, signer, NID_basic_constraints, forgery.constraints);
  add(raw, signer, NID_key_usage, forgery.key_usage);
  add(raw, signer, NID_ext_key_usage, forgery.purpose);
  add(raw, signer, NID_name_constraints, forgery.name_constraints);
  add(raw, signer, NID_subject_key_identifier, "hash");
  if (above) add(raw, signer, NID_authority_key_identifier, "keyid");
  add_names(raw, forgery.names);
  add_names(raw, forgery.more_names);
  if (forgery.unknown_critical_extension) add_unknown(raw, true, 1);
  if (forgery.padding_bytes > 0) add_unknown(raw, false, forgery.padding_bytes);
  require(X509_sign(raw, key_above ? key_above.get() : key.get(), forgery.digest) != 0);
  return to_pem(raw, key.get());
}

CertifiedKey with_broken_signature(const CertifiedKey& own) {
  const CertificateHandle certificate = read_certificate(own.certificate_pem);
  const ASN1_BIT_STRING* signature = nullptr;
  X509_get0_signature(&signature, nullptr, certificate.get());
  const_cast<ASN1_BIT_STRING*>(signature)->data[signature->length - 1] ^= 1;
  return to_pem(certificate.get(), read_private_key(own.private_key_pem).get());
}

CertifiedKey with_stolen_certificate(const CertifiedKey& own) {
  const KeyHandle shown = read_private_key(own.private_key_pem), held = make_key(ForgedKey::kEc256);
  std::array<unsigned char, 128> point{};
  std::size_t point_bytes = 0;
  BIGNUM* secret = nullptr;
  require(EVP_PKEY_get_octet_string_param(shown.get(), OSSL_PKEY_PARAM_PUB_KEY, point.data(), point.size(),
                                          &point_bytes) == 1);
  require(EVP_PKEY_get_bn_param(held.get(), OSSL_PKEY_PARAM_PRIV_KEY, &secret) == 1);
  const NumberHandle owner(secret);
  const std::unique_ptr<OSSL_PARAM_BLD, Releaser<OSSL_PARAM_BLD_free>> parts(OSSL_PARAM_BLD_new());
  OSSL_PARAM_BLD_push_utf8_string(parts.get(), OSSL_PKEY_PARAM_GROUP_NAME, "P-256", 0);
  OSSL_PARAM_BLD_push_octet_string(parts.get(), OSSL_PKEY_PARAM_PUB_KEY, point.data(), point_bytes);
  OSSL_PARAM_BLD_push_BN(parts.get(), OSSL_PKEY_PARAM_PRIV_KEY, secret);
  const std::unique_ptr<OSSL_PARAM, Releaser<OSSL_PARAM_free>> list(OSSL_PARAM_BLD_to_param(parts.get()));
  const std::unique_ptr<EVP_PKEY_CTX, Releaser<EVP_PKEY_CTX_free>> context(
      EVP_PKEY_CTX_new_from_name(nullptr, "EC", nullptr));
  EVP_PKEY* key = nullptr;
  require(EVP_PKEY_fromdata_init(context.get()) == 1 &&
          EVP_PKEY_fromdata(context.get(), &key, EVP_PKEY_KEYPAIR, list.get()) == 1);
  const KeyHandle mixed(key);
  return to_pem(read_certificate(own.certificate_pem).get(), mixed.get());
}

CertifiedKey with_chain(const CertifiedKey& own, const CertifiedKey& issuer) {
  return {own.certificate_pem + issuer.certificate_pem, own.private_key_pem};
}

}  // namespace godwit::net
