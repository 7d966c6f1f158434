// `godwit doctor` on real servers: nothing to say when all is well, and the one wrong thing when it
// is not.
#include <gtest/gtest.h>

#include <fstream>

#include "shared/net/certificates.h"
#include "tests/support/local_cluster.h"

namespace godwit::integration {
namespace {

using support::eventually;
using support::LocalCluster;

constexpr auto kStartLimit = std::chrono::seconds(30);
const std::string kUs = "us-west", kEu = "eu-central";

class Doctor : public ::testing::Test {
 protected:
  void SetUp() override {
    cluster_.start_servers();
    for (const std::string& region : cluster_.config().regions) {
      ASSERT_TRUE(eventually(kStartLimit, [&] {
        return cluster_.get(region, "/api/v1/status").has_value();
      })) << cluster_.server_log(region);
    }
  }

  static cli::InitFlags plan() {
    cli::InitFlags plan;
    plan.regions = kUs + "," + kEu;
    return plan;
  }

  // As a server of `region`: the checks that failed, "subject/check: detail".
  std::vector<std::string> failures(const std::string& region) const {
    const support::Output output = cluster_.godwit({"doctor", "--region", region, "-o", "json"});
    const boost::json::value report = boost::json::parse(output.text);
    std::vector<std::string> failed;
    for (const boost::json::value& check : report.at("checks").as_array()) {
      if (check.at("state").as_string() != "failed") continue;
      failed.push_back(std::string(check.at("subject").as_string()) + "/" +
                       std::string(check.at("check").as_string()) + ": " +
                       std::string(check.at("detail").as_string()));
    }
    EXPECT_EQ(report.at("passed").as_bool(), failed.empty());
    EXPECT_EQ(output.exit_code, failed.empty() ? 0 : 1);
    return failed;
  }
  void expect_one(const std::string& region, const std::string& start,
                  const std::string& words) const {
    const std::vector<std::string> found = failures(region);
    ASSERT_EQ(found.size(), 1U);
    EXPECT_TRUE(found[0].starts_with(start)) << found[0];
    EXPECT_NE(found[0].find(words), std::string::npos) << found[0];
  }

  net::CertifiedKey authority() const {
    return {text_of(cluster_.config().authority_file()), text_of(cluster_.config().key_file("ca"))};
  }
  static std::string text_of(const std::filesystem::path& file) {
    std::ifstream in(file);
    return std::string(std::istreambuf_iterator<char>(in), {});
  }
  void give(const std::string& holder, const net::CertifiedKey& certified) const {
    std::ofstream(cluster_.config().certificate_file(holder)) << certified.certificate_pem;
    std::ofstream(cluster_.config().key_file(holder)) << certified.private_key_pem;
  }
  net::Identity server(const std::string& region) const {
    return {cluster_.config().name, region, net::Role::kServer, region};
  }
  // eu-central shows this, us-west sees it.
  void restart_with(const net::CertifiedKey& certified) {
    cluster_.stop_server(kEu);
    give(kEu, certified);
    cluster_.start_server(kEu);
    ASSERT_TRUE(
        eventually(kStartLimit, [&] { return cluster_.get(kEu, "/api/v1/status").has_value(); }));
  }

  LocalCluster cluster_{plan()};
};

TEST_F(Doctor, HasNothingToSayWhenAllIsWell) {
  EXPECT_TRUE(failures(kUs).empty());
  const support::Output output = cluster_.godwit({"doctor"});
  EXPECT_EQ(output.exit_code, 0) << output.text;
  for (const char* row : {"certificate", "TLS", "clock", "disk", "limits"})
    EXPECT_NE(output.text.find(row), std::string::npos) << row << "\n" << output.text;
}

TEST_F(Doctor, NamesAStoppedServer) {
  cluster_.stop_server(kEu);
  const std::vector<std::string> found = failures(kUs);
  ASSERT_EQ(found.size(), 2U);
  EXPECT_TRUE(found[0].starts_with("eu-central/data port: ")) << found[0];
  EXPECT_TRUE(found[1].starts_with("eu-central/admin port: ")) << found[1];
  EXPECT_NE(found[0].find("refuses: a machine answers, but nothing listens"), std::string::npos)
      << found[0];
}

TEST_F(Doctor, NamesAPeersCertificateThatHasExpired) {
  const auto now = std::chrono::system_clock::now();
  const net::Validity past{now - std::chrono::hours(48), now - std::chrono::hours(24)};
  restart_with(net::issue_certificate(authority(), server(kEu), past).value());
  expect_one(kUs, "eu-central/TLS", "its certificate ended at");
}

TEST_F(Doctor, NamesAPeerOfAnotherAuthority) {
  const net::CertifiedKey other =
      net::create_authority(cluster_.config().name, net::valid_for_days(1)).value();
  restart_with(net::issue_certificate(other, server(kEu), net::valid_for_days(1)).value());
  expect_one(kUs, "eu-central/TLS", "another CA");
}

TEST_F(Doctor, NamesAPeerWithTheFilesOfAnotherServer) {
  restart_with(
      net::issue_certificate(authority(), server("ap-south"), net::valid_for_days(1)).value());
  expect_one(kUs, "eu-central/TLS",
             "server/ap-south, not godwit://local/eu-central/server/eu-central");
}

TEST_F(Doctor, NamesOwnFilesThatAreWrongAndOnlyThem) {
  const auto key = cluster_.config().key_file(kUs);
  std::filesystem::permissions(key, std::filesystem::perms::group_read,
                               std::filesystem::perm_options::add);
  expect_one(kUs, "us-west/files", "others on this machine can read");
  std::filesystem::permissions(key, std::filesystem::perms::group_read,
                               std::filesystem::perm_options::remove);
  const auto now = std::chrono::system_clock::now();
  const net::Validity past{now - std::chrono::hours(48), now - std::chrono::hours(24)};
  give(kUs, net::issue_certificate(authority(), server(kUs), past).value());
  expect_one(kUs, "us-west/certificate", "ended at");
  std::filesystem::remove(key);
  expect_one(kUs, "us-west/files", "us-west.key is missing");
}

TEST_F(Doctor, NamesAConfigurationThatDoesNotParse) {
  std::ofstream(cluster_.folder() / kClusterFileName, std::ios::app) << "\n[limit]\n";
  const support::Output output = cluster_.godwit({"doctor"});
  EXPECT_EQ(output.exit_code, 1);
  EXPECT_NE(output.text.find("FAILED"), std::string::npos) << output.text;
}

}  // namespace
}  // namespace godwit::integration
