// Whoever should not come in, and whatever should not be said: a named error, and the next one is
// served.
#include <unistd.h>

#include <array>
#include <boost/asio/ip/tcp.hpp>
#include <future>

#include "shared/base/byte_stream.h"
#include "shared/base/checksum.h"
#include "tests/unit/net/bad_peers.h"
#include "tests/unit/net/loopback.h"
#include "tests/unit/net/stranger.h"

namespace godwit::net {
namespace {

const Identity kWorker{"demo", "eu", Role::kWorker, "eu-w0"};
const Identity kServerInUs{"demo", "us", Role::kServer, "us-0"};
const ExpectedPeer kServerInEu{"demo", "eu", Role::kServer};

class Refusals : public Loopback {
 protected:
  Encounter meet(Stranger stranger) {
    stranger.port = listener_->port();
    std::future<Encounter> encounter = std::async(std::launch::async, visit, std::move(stranger));
    EXPECT_TRUE(run_until([&encounter] {
      return encounter.wait_for(std::chrono::seconds(0)) == std::future_status::ready;
    }));
    return encounter.get();
  }
  // The server refused exactly one peer before any session, for this reason, and lives.
  void expect_refused(Errc code, std::string_view words) {
    ASSERT_TRUE(run_until([this] { return !refused_.empty(); }));
    ASSERT_EQ(refused_.size(), 1u);
    EXPECT_EQ(refused_[0].code, code) << refused_[0].to_string();
    EXPECT_NE(refused_[0].context.find(words), std::string::npos) << refused_[0].to_string();
    EXPECT_EQ(echoed_, 0u) << "not a byte reached a session";
    expect_served();
  }
  // The session ended for this reason, and the server lives.
  void expect_session_end(Errc code, std::string_view words) {
    ASSERT_TRUE(run_until([this] { return !session_ends_.empty(); }));
    EXPECT_EQ(session_ends_[0].code, code) << session_ends_[0].to_string();
    EXPECT_NE(session_ends_[0].context.find(words), std::string::npos)
        << session_ends_[0].to_string();
    expect_served();
  }
  void expect_served() {
    const Result<Dialed> next = dial();
    EXPECT_TRUE(next) << next.error().to_string();
  }
  // What the server answered, if it was one GOODBYE frame.
  static Error goodbye_in(const Encounter& encounter) {
    GODWIT_CHECK(encounter.received.size() >= kFrameHeaderBytes, "no frame came back");
    const Result<FrameHeader> header =
        parse_header(ByteView(encounter.received).first(kFrameHeaderBytes));
    const ByteView control = ByteView(encounter.received).subspan(kFrameHeaderBytes);
    if (!header || header->kind != MessageKind::kGoodbye || control.size() != header->control_bytes) {
      return Error{Errc::kInternal, "something else than one GOODBYE"};
    }
    return parse_goodbye(control);
  }
  static Bytes hello() {
    const EncodedHeader header = encode_header({MessageKind::kHello, 0, 0, 0});
    return Bytes(header.begin(), header.end());
  }
  Stranger with_certificate(Bytes send) const {
    Stranger stranger;
    stranger.own = issue(kWorker);
    stranger.send = std::move(send);
    return stranger;
  }
  Result<Dialed> dial_with(CertifiedKey own) {
    return dial(TlsContext::create(TlsSide::kClient, tls(std::move(own))).value(), kServerInEu);
  }
};

// ---- who ----

TEST_F(Refusals, BadCallersAreRefusedBeforeTheyAreHeard) {
  serve();
  for (const Identity& welcome : {kWorker, kServerInUs}) {
    for (const BadPeer& bad : bad_peers(authority_, welcome, "us")) {
      if (bad.fault != BadPeer::kOfCaller && bad.fault != BadPeer::kCertificate) continue;
      SCOPED_TRACE(bad.name);
      refused_.clear();
      Stranger stranger = bad.stranger;
      stranger.send = hello();
      const Encounter encounter = meet(stranger);
      ASSERT_TRUE(run_until([this] { return !refused_.empty(); }));
      ASSERT_EQ(refused_.size(), 1u);
      EXPECT_NE(refused_[0].to_string().find(bad.reason), std::string::npos) << refused_[0].to_string();
      EXPECT_TRUE(encounter.received.empty() || goodbye_in(encounter).code == refused_[0].code);
    }
  }
  EXPECT_EQ(echoed_, 0u) << "a word reached a session";
  expect_served();
}

TEST_F(Refusals, BadServersAreRefusedBeforeTheyAreGreeted) {
  const int listening = listen_anywhere();
  for (const BadPeer& bad : bad_peers(authority_, Identity{"demo", "eu", Role::kServer, "eu-0"}, "us")) {
    if (bad.fault == BadPeer::kOfCaller) continue;
    SCOPED_TRACE(bad.name);
    std::future<Encounter> false_server =
        std::async(std::launch::async, receive_caller, listening, *bad.stranger.own);
    DialTarget target{"127.0.0.1", port_of(listening), kServerInEu};
    const Result<Dialed> dialed = await(net::dial(group_, context(TlsSide::kClient, kWorker), target, hello(), {},
                                                  now() + kTestDeadline));
    ASSERT_FALSE(dialed);
    const bool somebody = bad.fault == BadPeer::kIdentity;
    EXPECT_NE(dialed.error().to_string().find(somebody ? "wanted a server of cluster demo, region eu" : bad.reason),
              std::string::npos)
        << dialed.error().to_string();
    run_until([&] { return false_server.wait_for(std::chrono::seconds(0)) == std::future_status::ready; });
    const Encounter encounter = false_server.get();
    EXPECT_TRUE(encounter.received.empty() || goodbye_in(encounter).code == dialed.error().code);
  }
  ::close(listening);
}

TEST_F(Refusals, ACertificateOfAnotherAuthority) {
  serve();
  const CertifiedKey other = create_authority("demo", valid_for_days(1)).value();
  const Result<Dialed> dialed =
      dial_with(issue_certificate(other, kWorker, valid_for_days(1)).value());
  ASSERT_FALSE(dialed);
  EXPECT_EQ(dialed.error().code, Errc::kUnauthenticated) << dialed.error().to_string();
  EXPECT_NE(dialed.error().context.find("refuses our certificate"), std::string::npos);
  expect_refused(Errc::kUnauthenticated, "the peer's certificate is refused");
}

TEST_F(Refusals, AServerOfAnotherAuthority) {
  serve();
  TlsOptions options = tls(issue(kWorker));
  options.authority_pem = create_authority("demo", valid_for_days(1)).value().certificate_pem;
  const Result<Dialed> dialed =
      dial(TlsContext::create(TlsSide::kClient, options).value(), kServerInEu);
  ASSERT_FALSE(dialed);
  EXPECT_EQ(dialed.error().code, Errc::kUnauthenticated) << dialed.error().to_string();
  expect_refused(Errc::kUnauthenticated, "refuses our certificate");
}

TEST_F(Refusals, ARoleThatTheServerDoesNotAdmit) {
  admit_ = [](const Identity& peer) -> Result<void> {
    if (peer.role == Role::kOperator) return Error{Errc::kForbidden, "operators use REST"};
    return {};
  };
  serve();
  const Identity person{"demo", "eu", Role::kOperator, "ada"};
  const Result<Dialed> dialed = dial_with(issue(person));
  ASSERT_FALSE(dialed);
  EXPECT_EQ(dialed.error().code, Errc::kForbidden);
  EXPECT_NE(dialed.error().context.find("operators use REST"), std::string::npos);
  expect_refused(Errc::kForbidden, "operators use REST");
}

TEST_F(Refusals, AServerThatIsNotTheOneMeant) {
  serve();
  const ExpectedPeer elsewhere{"demo", "us", Role::kServer};
  const Result<Dialed> dialed = dial(context(TlsSide::kClient, kWorker), elsewhere);
  ASSERT_FALSE(dialed);
  EXPECT_EQ(dialed.error().code, Errc::kForbidden);
  EXPECT_NE(dialed.error().context.find("region us"), std::string::npos);
  ASSERT_TRUE(run_until([this] { return !session_ends_.empty(); }));
  EXPECT_EQ(session_ends_[0].code, Errc::kForbidden);
  EXPECT_EQ(echoed_, 0u) << "HELLO was not sent";
  expect_served();
}

TEST_F(Refusals, NobodyListens) {
  serve();
  const std::uint16_t port = listener_->port();
  listener_->close();
  listener_.reset();
  DialTarget target;
  target.host = "127.0.0.1";
  target.port = port;
  target.expected = kServerInEu;
  run_until([this] { return group_.size() == 0; });
  const Result<Dialed> dialed = await(net::dial(group_, context(TlsSide::kClient, kWorker), target,
                                                Bytes(), {}, now() + kTestDeadline));
  EXPECT_EQ(dialed.error().code, Errc::kUnavailable);
}

// ---- what ----

TEST_F(Refusals, SilenceInsteadOfAHandshake) {
  ListenOptions options;
  options.handshake_deadline = milliseconds(30);
  serve(options);
  Stranger stranger;
  stranger.tls = false;
  meet(stranger);
  ASSERT_EQ(refused_.size(), 1u);
  EXPECT_EQ(refused_[0].code, Errc::kTimedOut);
}

TEST_F(Refusals, WhoOnlyHoldsPlacesKeepsNobodyOut) {
  ListenOptions options;
  options.half_open_limit = 2;
  options.handshake_deadline = 3 * kTestDeadline;
  serve(options);
  std::vector<asio::ip::tcp::socket> idle;
  const asio::ip::tcp::endpoint server(asio::ip::address_v4::loopback(), listener_->port());
  for (int i = 0; i < 3; ++i) idle.emplace_back(io_).connect(server);
  ASSERT_TRUE(run_until([this] { return !refused_.empty(); }));
  EXPECT_EQ(refused_[0].code, Errc::kOverloaded);
  EXPECT_EQ(listener_->half_open_count(), 2u);
  std::array<char, 1> nothing{};
  boost::system::error_code closed;
  idle[0].read_some(asio::buffer(nothing), closed);
  EXPECT_EQ(closed, asio::error::eof) << "the longest-waiting one went";
  expect_served();  // while the others still wait
  idle.clear();
  ASSERT_TRUE(run_until([this] { return listener_->half_open_count() == 0; }));
  expect_served();
}

TEST_F(Refusals, OnePeerHasABoundedNumberOfConnections) {
  ListenOptions options;
  options.peer_session_limit = 2;
  serve(options);
  const TlsContext worker = context(TlsSide::kClient, kWorker);
  std::vector<Dialed> held;
  for (int i = 0; i < 2; ++i) {
    Result<Dialed> dialed = dial(worker, kServerInEu);
    ASSERT_TRUE(dialed) << dialed.error().to_string();
    held.push_back(std::move(*dialed));
  }
  const Result<Dialed> one_more = dial(worker, kServerInEu);
  ASSERT_FALSE(one_more);
  EXPECT_EQ(one_more.error().code, Errc::kOverloaded) << one_more.error().to_string();
  EXPECT_NE(one_more.error().context.find("2 connections already"), std::string::npos);
  EXPECT_TRUE(dial(context(TlsSide::kClient, kServerInUs), kServerInEu)) << "another one is served";
  held.clear();
  ASSERT_TRUE(run_until([this] { return listener_->session_count() == 0; }));
  expect_served();
}

TEST_F(Refusals, AHeaderThatIsNoHeader) {
  serve();
  const Encounter encounter = meet(with_certificate(Bytes(1000, std::byte{0x5a})));
  EXPECT_EQ(goodbye_in(encounter).code, Errc::kMalformed);
  expect_session_end(Errc::kMalformed, "bad magic");
}

TEST_F(Refusals, ALengthAboveItsLimit) {
  serve();
  FrameHeader header;
  header.kind = MessageKind::kHello;
  EncodedHeader encoded = encode_header(header);
  encoded[11] = std::byte{0xff};  // 4 GB of control
  ByteWriter writer;
  writer.put_raw(ByteView(encoded).first(kFrameHeaderBytes - 4));
  writer.put(static_cast<std::uint32_t>(checksum(writer.bytes()).value()));
  const Encounter encounter = meet(with_certificate(writer.take()));
  EXPECT_EQ(goodbye_in(encounter).code, Errc::kTooLarge);
  expect_session_end(Errc::kTooLarge, "at most");
}

TEST_F(Refusals, AFrameCutShort) {
  serve();
  FrameHeader header;
  header.kind = MessageKind::kHello;
  header.payload_bytes = kMaxPayloadBytes;
  const EncodedHeader encoded = encode_header(header);
  Bytes bytes(encoded.begin(), encoded.end());
  bytes.resize(bytes.size() + 70'000);
  Stranger stranger = with_certificate(std::move(bytes));
  stranger.leave = true;
  meet(stranger);
  expect_session_end(Errc::kClosed, "in the middle of a frame");
}

TEST_F(Refusals, AHeartbeatThatDoesNotParse) {
  serve();
  FrameHeader header;
  header.kind = MessageKind::kPing;
  header.control_bytes = 3;
  const EncodedHeader encoded = encode_header(header);
  Bytes bytes(encoded.begin(), encoded.end());
  bytes.resize(bytes.size() + 3);
  const Encounter encounter = meet(with_certificate(std::move(bytes)));
  EXPECT_EQ(goodbye_in(encounter).code, Errc::kMalformed);
  expect_session_end(Errc::kMalformed, "heartbeat");
}

}  // namespace
}  // namespace godwit::net
