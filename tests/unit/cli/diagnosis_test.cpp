// Every wrong thing that `godwit doctor` knows, from facts to the sentence that names it.
#include "server/cli/diagnosis.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace godwit::cli {
namespace {

using testing::HasSubstr;

const net::Identity kEu{"prod", "eu", net::Role::kServer, "eu"};
const HostPort kAddress{"10.77.0.2", 7700};
const WallTime kNow = std::chrono::system_clock::from_time_t(1'800'000'000);  // 2027-01-15 08:00
constexpr auto kDay = std::chrono::hours(24);

net::CertificateFacts facts(const net::Identity& identity = kEu) {
  return {"Godwit CA prod", kNow - kDay, kNow + kDay, identity};
}

void expect_failed(const Check& check, const std::string& code, const std::string& cause,
                   const std::string& fix) {
  EXPECT_EQ(check.state, CheckState::kFailed);
  EXPECT_EQ(check.code, code);
  EXPECT_THAT(check.detail, HasSubstr(cause));
  EXPECT_THAT(check.fix, HasSubstr(fix));
}

net::TlsFinding handshake() {
  net::TlsFinding finding;
  finding.handshake = Result<void>();
  finding.peer = facts();
  finding.admission = Result<void>();
  return finding;
}

Check judged(const net::TlsFinding& finding) {
  return check_handshake(kEu, kAddress, finding, kNow);
}

Check port(net::Reach reach) {
  return check_port("eu", "data", kAddress, {reach, "10.77.0.2", "the system's words"}, seconds(3));
}

TEST(Diagnosis, PortsThatCannotBeReachedDifferInWhatToDo) {
  EXPECT_EQ(port(net::Reach::kConnected).state, CheckState::kOk);
  expect_failed(port(net::Reach::kNoName), "GODWIT-E1001", "has no address",
                "getent hosts 10.77.0.2");
  expect_failed(port(net::Reach::kRefused), "GODWIT-E1001", "nothing listens",
                "systemctl start godwit-server");
  expect_failed(port(net::Reach::kTimedOut), "GODWIT-E1002", "did not answer within 3.0s",
                "allow TCP 7700");
  expect_failed(port(net::Reach::kUnreachable), "GODWIT-E1001", "no way", "ip route get 10.77.0.2");
  expect_failed(port(net::Reach::kOther), "GODWIT-E1001", "the system's words", "words");
}

TEST(Diagnosis, AHandshakeThatWorks) {
  const Check check = judged(handshake());
  EXPECT_EQ(check.state, CheckState::kOk) << check.detail;
  EXPECT_THAT(check.detail, HasSubstr("to 2027-01-16 08:00 UTC"));
}

TEST(Diagnosis, APeersCertificateOutOfDate) {
  net::TlsFinding finding = handshake();
  finding.distrust = net::Distrust::kExpired;
  finding.peer->not_after = kNow - 2 * kDay;
  expect_failed(judged(finding), "GODWIT-E1101", "ended at 2027-01-13 08:00 UTC, 2d 0h ago",
                "godwit init");
  finding = handshake();
  finding.distrust = net::Distrust::kNotYetValid;
  finding.peer->not_before = kNow + std::chrono::hours(3);
  expect_failed(judged(finding), "GODWIT-E1101", "in 3h 0m by this clock", "timedatectl");
}

TEST(Diagnosis, APeerOfAnotherAuthority) {
  net::TlsFinding finding = handshake();
  finding.distrust = net::Distrust::kOtherAuthority;
  expect_failed(judged(finding), "GODWIT-E1101", "another CA", "one and the same `godwit init`");
}

TEST(Diagnosis, APeerWhoIsSomebodyElse) {
  net::TlsFinding finding = handshake();
  finding.peer = facts({"prod", "us", net::Role::kServer, "us"});
  expect_failed(judged(finding), "GODWIT-E1101",
                "is godwit://prod/us/server/us, not godwit://prod/eu/server/eu", "cluster.toml");
  finding.peer = facts({"prod", "eu", net::Role::kWorker, "eu"});
  expect_failed(judged(finding), "GODWIT-E1101", "worker", "cluster.toml");
}

TEST(Diagnosis, APeerWhoRefusesUs) {
  net::TlsFinding finding = handshake();
  finding.admission =
      Error{Errc::kUnauthenticated, "TLS: the peer refuses our certificate: unknown ca"};
  expect_failed(judged(finding), "GODWIT-E1101",
                "refuses us: TLS: the peer refuses our certificate", "copy ca.crt");
  finding.admission = Error{Errc::kForbidden, "cluster.toml knows no region 'us'"};
  expect_failed(judged(finding), "GODWIT-E1102", "knows no region", "same on both machines");
  finding.admission = Error{Errc::kTimedOut, ""};
  expect_failed(judged(finding), "GODWIT-E1002", "said nothing", "log");
}

TEST(Diagnosis, AnotherProgramOnThePort) {
  net::TlsFinding finding;
  for (const Errc code : {Errc::kTimedOut, Errc::kMalformed, Errc::kUnsupported}) {
    finding.handshake = Error{code, "?"};
    expect_failed(judged(finding), "GODWIT-E5003", "speaks no TLS 1.3", "ss -ltnp");
  }
  finding.handshake = Error{Errc::kClosed, "the peer vanished"};
  expect_failed(judged(finding), "GODWIT-E1003", "the peer vanished", "log of eu");
}

TEST(Diagnosis, OurOwnCertificate) {
  const OwnCertificate right{"eu.crt", facts(), true, true};
  EXPECT_EQ(check_own_certificate(kEu, right, kNow).state, CheckState::kOk);
  OwnCertificate own = right;
  own.facts = facts({"prod", "us", net::Role::kServer, "us"});
  expect_failed(check_own_certificate(kEu, own, kNow), "GODWIT-E1101",
                "is for godwit://prod/us/server/us", "copy");
  own = right;
  own.facts.identity = Error{Errc::kUnauthenticated, "it carries no URI name"};
  expect_failed(check_own_certificate(kEu, own, kNow), "GODWIT-E1101", "carries no URI name",
                "copy");
  own = right;
  own.key_fits = false;
  expect_failed(check_own_certificate(kEu, own, kNow), "GODWIT-E1101", "do not belong together",
                "copy both");
  own = right;
  own.signed_by_authority = false;
  expect_failed(check_own_certificate(kEu, own, kNow), "GODWIT-E1101", "not signed by the ca.crt",
                "copy ca.crt");
  expect_failed(check_own_certificate(kEu, right, kNow + 2 * kDay), "GODWIT-E1101", "ended",
                "godwit init");
  expect_failed(check_own_certificate(kEu, right, kNow - 2 * kDay), "GODWIT-E1101", "begins",
                "timedatectl");
}

TEST(Diagnosis, FilesThatAreMissingUnreadableOrOpen) {
  const FileFacts certificate{"c/eu.crt", true, true, 0644, false};
  const FileFacts key{"c/eu.key", true, true, 0600, true};
  EXPECT_EQ(check_files("eu", {certificate, key}).state, CheckState::kOk);
  FileFacts wrong = key;
  wrong.mode = 0640;
  expect_failed(check_files("eu", {certificate, wrong}), "GODWIT-E2005", "c/eu.key is a secret",
                "chmod 600 c/eu.key");
  wrong = key;
  wrong.readable = false;
  expect_failed(check_files("eu", {certificate, wrong}), "GODWIT-E2005", "cannot be read", "chown");
  wrong.exists = false;
  expect_failed(check_files("eu", {certificate, wrong}), "GODWIT-E2005", "c/eu.key is missing",
                "copy");
}

TEST(Diagnosis, AServerThatOnlyItsOwnMachineReaches) {
  ClusterConfig config;
  config.servers = {{"us", "us", RegionId(0), {"10.77.0.1", 7700}, {"127.0.0.1", 7780}, false},
                    {"eu", "eu", RegionId(1), {"10.77.0.2", 7700}, {"127.0.0.1", 7781}, false}};
  EXPECT_EQ(check_addresses(config).state, CheckState::kOk);
  config.servers[1].data.host = "127.0.0.1";
  expect_failed(check_addresses(config), "GODWIT-E2001", "data of eu is 127.0.0.1:7700",
                "write the address");
  config.servers[0].data = {"127.0.0.1", 7701};
  EXPECT_EQ(check_addresses(config).state, CheckState::kOk) << "all on one machine";
}

TEST(Diagnosis, DiskAndLimits) {
  EXPECT_EQ(check_disk("eu", "data/eu", kFreeBytesMin).state, CheckState::kOk);
  expect_failed(check_disk("eu", "data/eu", kFreeBytesMin - 1), "GODWIT-E6003", "data/eu", "room");
  expect_failed(check_disk("eu", "data/eu", kFullDiskBytes - 1), "GODWIT-E6003", "the disk is full", "room");
  EXPECT_EQ(check_descriptors(kDescriptorsMin).state, CheckState::kOk);
  expect_failed(check_descriptors(256), "GODWIT-E6003", "256 open files", "ulimit -n 1024");
}

TEST(Diagnosis, AClockThatIsWrongIsNamed) {
  const auto near = check_clocks({{"eu", seconds(1)}, {"ap", seconds(-60)}});
  ASSERT_EQ(near.size(), 2U);
  EXPECT_EQ(near[0].detail, "1.0s ahead of ours");
  EXPECT_EQ(near[1].state, CheckState::kOk);
  const auto theirs = check_clocks({{"eu", seconds(300)}, {"ap", seconds(1)}});
  ASSERT_EQ(theirs.size(), 2U);
  expect_failed(theirs[0], "GODWIT-E1103", "its clock is 5m 0s ahead of ours", "timedatectl");
  EXPECT_EQ(theirs[1].state, CheckState::kOk);
  const auto ours = check_clocks({{"eu", seconds(-300)}, {"ap", seconds(-301)}});
  ASSERT_EQ(ours.size(), 1U);
  EXPECT_EQ(ours[0].subject, kThisMachine);
  expect_failed(ours[0], "GODWIT-E1103", "this clock is 5m 1s ahead of all others", "timedatectl");
  EXPECT_EQ(check_clocks({{"eu", seconds(300)}}).at(0).subject, "eu");
  EXPECT_TRUE(check_clocks({}).empty());
}

}  // namespace
}  // namespace godwit::cli
