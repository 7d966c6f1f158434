#include "shared/net/certificates.h"

#include <gtest/gtest.h>
#include <sys/stat.h>

#include <fstream>

#include "shared/net/tls.h"

namespace godwit::net {
namespace {

const Identity kServer{"demo", "eu", Role::kServer, "eu-0"};

TEST(Certificates, ALeafCarriesItsIdentity) {
  const Result<CertifiedKey> authority = create_authority("demo", valid_for_days(1));
  ASSERT_TRUE(authority);
  const Result<CertifiedKey> leaf = issue_certificate(*authority, kServer, valid_for_days(1));
  ASSERT_TRUE(leaf);
  TlsOptions options;
  options.authority_pem = authority->certificate_pem;
  options.own = *leaf;
  const Result<TlsContext> context = TlsContext::create(TlsSide::kClient, options);
  ASSERT_TRUE(context) << context.error().to_string();
  EXPECT_EQ(context->own_identity(), kServer);
}

TEST(Certificates, BadConfigurationIsNamed) {
  const Result<CertifiedKey> authority = create_authority("demo", valid_for_days(1));
  const Result<CertifiedKey> leaf = issue_certificate(*authority, kServer, valid_for_days(1));
  const Result<CertifiedKey> other = issue_certificate(*authority, kServer, valid_for_days(1));
  TlsOptions good;
  good.authority_pem = authority->certificate_pem;
  good.own = *leaf;
  const auto refusal = [](const TlsOptions& options) {
    const Result<TlsContext> context = TlsContext::create(TlsSide::kServer, options);
    EXPECT_FALSE(context);
    return context ? std::string() : context.error().to_string();
  };
  TlsOptions bad = good;
  bad.own.private_key_pem = other->private_key_pem;
  EXPECT_NE(refusal(bad).find("config: TLS: our certificate and private key do not fit"),
            std::string::npos);
  bad = good;
  bad.authority_pem = "nothing";
  EXPECT_NE(refusal(bad).find("CA file holds no certificate"), std::string::npos);
  bad = good;
  bad.own = *authority;
  EXPECT_NE(refusal(bad).find("authority, not a leaf"), std::string::npos);
  bad = good;
  bad.cipher_suites = "TLS_NONSENSE";
  EXPECT_NE(refusal(bad).find("TLS_NONSENSE"), std::string::npos);
  EXPECT_EQ(issue_certificate(CertifiedKey{"x", "y"}, kServer, valid_for_days(1)).error().code,
            Errc::kConfig);
}

class PrivateFile : public testing::Test {
 protected:
  PrivateFile() : directory_(testing::TempDir() + "/godwit_private_XXXXXX") {
    EXPECT_NE(::mkdtemp(directory_.data()), nullptr);
  }
  ~PrivateFile() override { std::filesystem::remove_all(directory_); }
  std::string directory_;
};

TEST_F(PrivateFile, OnlyItsOwnerReadsIt) {
  const std::filesystem::path file = std::filesystem::path(directory_) / "key.pem";
  ASSERT_TRUE(write_private_file(file, "secret"));
  struct stat status {};
  ASSERT_EQ(::stat(file.c_str(), &status), 0);
  EXPECT_EQ(status.st_mode & 0777, 0600u);
  EXPECT_EQ(write_private_file(file, "again").error().code, Errc::kIo) << "never overwrites a key";
  const Result<TlsOptions> missing = load_tls_options(file, file, file.string() + ".missing");
  ASSERT_FALSE(missing);
  EXPECT_NE(missing.error().context.find("key.pem.missing"), std::string::npos);
}

}  // namespace
}  // namespace godwit::net
