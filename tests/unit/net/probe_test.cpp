// A probe towards a real listener: it sees what a connection would be refused for, and by whom.
#include "shared/net/probe.h"

#include <future>

#include "tests/unit/net/loopback.h"

namespace godwit::net {
namespace {

using namespace std::chrono_literals;

const Identity kUs{"demo", "us", Role::kServer, "us"};
const Identity kEu{"demo", "eu", Role::kServer, "eu"};

class Probe : public Loopback {
 protected:
  TlsFinding look(const TlsContext& context) {
    auto finding = std::async(std::launch::async, [&] {
      return probe_tls("127.0.0.1", listener_->port(), context, 10s);
    });
    EXPECT_TRUE(run_until([&] { return finding.wait_for(0s) == std::future_status::ready; }));
    return finding.get();
  }
  TlsContext client(const TlsOptions& options) const {
    return TlsContext::create(TlsSide::kClient, options).value();
  }
};

TEST_F(Probe, SeesWhoIsThereAndThatWeMayComeIn) {
  serve();
  const TlsFinding found = look(context(TlsSide::kClient, kUs));
  ASSERT_TRUE(found.handshake) << found.handshake.error().to_string();
  EXPECT_EQ(found.distrust, Distrust::kNone);
  ASSERT_TRUE(found.peer && found.peer->identity);
  EXPECT_EQ(found.peer->identity->role, Role::kServer);
  EXPECT_GT(found.peer->not_after, std::chrono::system_clock::now());
  EXPECT_TRUE(found.admission) << found.admission.error().to_string();
  EXPECT_EQ(echoed_, 0U);
}

TEST_F(Probe, HearsWhyWeMayNot) {
  admit_ = [](const Identity&) { return Result<void>(Error{Errc::kForbidden, "not you"}); };
  serve();
  const TlsFinding found = look(context(TlsSide::kClient, kUs));
  ASSERT_FALSE(found.admission);
  EXPECT_EQ(found.admission.error().code, Errc::kForbidden);
  EXPECT_NE(found.admission.error().context.find("not you"), std::string::npos);
}

TEST_F(Probe, HearsThatOurCertificateHasExpired) {
  serve();
  const auto now = std::chrono::system_clock::now();
  const TlsFinding found =
      look(client(tls(issue_certificate(authority_, kUs, {now - 48h, now - 24h}).value())));
  ASSERT_FALSE(found.admission);
  EXPECT_EQ(found.admission.error().code, Errc::kUnauthenticated);
  EXPECT_NE(found.admission.error().context.find("expired"), std::string::npos)
      << found.admission.error().context;
}

TEST_F(Probe, SeesThatThePeerIsOfAnotherAuthority) {
  serve();
  TlsOptions options = tls(issue(kUs));
  options.authority_pem = create_authority("demo", valid_for_days(1)).value().certificate_pem;
  const TlsFinding found = look(client(options));
  EXPECT_EQ(found.distrust, Distrust::kOtherAuthority) << found.distrust_words;
  EXPECT_TRUE(found.peer.has_value());
}

TEST_F(Probe, TellsRefusedFromUnknown) {
  serve();
  const std::uint16_t port = listener_->port();
  EXPECT_EQ(probe_tcp("127.0.0.1", port, 1s).reach, Reach::kConnected);
  listener_->close();
  EXPECT_TRUE(run_until([&] { return probe_tcp("127.0.0.1", port, 1s).reach == Reach::kRefused; }));
  EXPECT_EQ(probe_tcp("no-such-name.invalid", port, 1s).reach, Reach::kNoName);
}

TEST(OwnAddress, IsOneThatCanBeBound) {
  EXPECT_TRUE(is_own_address("127.0.0.1"));
  EXPECT_TRUE(is_own_address("0.0.0.0"));
  EXPECT_FALSE(is_own_address("192.0.2.1")) << "kept for documentation";
  EXPECT_FALSE(is_own_address("localhost")) << "a listener takes numeric addresses only";
}

TEST(CertificateFacts, WhoSignedWhatAndWhoseKeyItIs) {
  const CertifiedKey authority = create_authority("demo", valid_for_days(1)).value();
  const CertifiedKey other = create_authority("demo", valid_for_days(1)).value();
  const CertifiedKey leaf = issue_certificate(authority, kEu, valid_for_days(7)).value();
  EXPECT_TRUE(is_signed_by(leaf.certificate_pem, authority.certificate_pem));
  EXPECT_FALSE(is_signed_by(leaf.certificate_pem, other.certificate_pem));
  EXPECT_TRUE(is_key_of(leaf.private_key_pem, leaf.certificate_pem));
  EXPECT_FALSE(is_key_of(other.private_key_pem, leaf.certificate_pem));
  const Result<CertificateFacts> facts = read_certificate_facts(leaf.certificate_pem);
  ASSERT_TRUE(facts && facts->identity);
  EXPECT_EQ(*facts->identity, kEu);
  EXPECT_EQ(facts->issuer, "Godwit CA demo");
  EXPECT_NEAR(
      std::chrono::duration<double>(facts->not_after - std::chrono::system_clock::now()).count(),
      7 * 86400, 10);
  EXPECT_FALSE(read_certificate_facts("no PEM"));
  EXPECT_FALSE(read_certificate_facts(authority.certificate_pem).value().identity)
      << "an authority is no peer";
}

}  // namespace
}  // namespace godwit::net
