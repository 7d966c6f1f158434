// A real server and hundreds of connections that lead nowhere: how many it holds, what they cost it, when it lets go
// of them, and that whoever means well is served meanwhile. docker/three_machines.md has the table of limits.
#include <gtest/gtest.h>

#include "tests/integration/besieged.h"
#include "tests/integration/holder.h"

namespace godwit::integration {
namespace {

using support::eventually;

constexpr std::size_t kHolders = 200;
constexpr std::size_t kGrowthLimitKiB = 32 * 1024;
// What docker/three_machines.md says that there may be at once.
constexpr std::size_t kHalfOpen = 64, kSessionsOfAPeer = 8, kAdminConnections = 64;
constexpr std::size_t kOthers = 8;  // of the test itself, the run, and closes under way
constexpr auto kHandshakeDeadline = std::chrono::seconds(5), kHelloDeadline = std::chrono::seconds(5),
               kRequestDeadline = std::chrono::seconds(10);

class Siege : public Besieged {
 protected:
  using Open = std::function<Holder(std::size_t number)>;
  struct Kind {
    std::string name;
    std::size_t at_once;  // so many of them the server holds
    Open open;
  };

  std::uint16_t data() const { return home().data.port; }
  std::uint16_t admin() const { return home().admin.port; }

  // Certificates of as many workers as it takes to hold kHolders sessions.
  std::vector<net::CertifiedKey> crowd() const {
    std::vector<net::CertifiedKey> crowd;
    for (std::size_t i = 0; i < kHolders / kSessionsOfAPeer; ++i) {
      crowd.push_back(forge(config(), identity(kHome, net::Role::kWorker, "crowd-" + std::to_string(i))));
    }
    return crowd;
  }
  static Bytes announcing(std::uint32_t control_bytes, std::uint32_t payload_bytes) {
    const net::EncodedHeader header =
        net::encode_header({MessageKind::kHello, control_bytes, payload_bytes, 0});
    return Bytes(header.begin(), header.end());
  }

  std::vector<Kind> kinds() const {
    const auto some = std::make_shared<std::vector<net::CertifiedKey>>(crowd());
    const auto of_crowd = [this, some](Bytes said) {
      return [this, some, said](std::size_t i) { return Holder(data(), (*some)[i % some->size()], said); };
    };
    const auto in_the_clear = [](std::uint16_t port, Bytes said) {
      return [port, said](std::size_t) { return Holder(port, said); };
    };
    const Bytes record = copy(view(std::string_view("\x16\x03\x01\x40", 4)));
    const Bytes request = copy(view(std::string_view("GET /livez HTTP/1.1\r\nHost: loc")));
    const Bytes body = copy(view(std::string_view(
        "POST /api/v1/mode HTTP/1.1\r\nHost: localhost\r\nContent-Length: 60000\r\n\r\n{")));
    return {{"connections that say nothing", kHalfOpen, in_the_clear(data(), {})},
            {"half a handshake", kHalfOpen, in_the_clear(data(), client_hello())},
            {"a record of 16 KiB begun", kHalfOpen, in_the_clear(data(), record)},
            {"a handshake, no frame, one peer", kSessionsOfAPeer + kHalfOpen,  // the latter hear why they must go
             [this](std::size_t) { return Holder(data(), worker_, {}); }},
            {"a handshake, no frame, 25 peers", kHolders, of_crowd({})},
            {"a header of 1 MiB, then nothing", kHolders, of_crowd(announcing(net::kMaxControlBytes, 0))},
            {"a header of 4 MiB, then nothing", kHolders, of_crowd(announcing(0, net::kMaxPayloadBytes))},
            {"half a request", kAdminConnections, in_the_clear(admin(), request)},
            {"half a body", kAdminConnections, in_the_clear(admin(), body)}};
  }

  void expect_bounded(const Kind& kind) {
    SCOPED_TRACE(kind.name);
    const std::size_t memory = resident_kib(kHome), files = open_files(kHome);
    std::vector<Holder> holders;
    std::size_t most = 0;
    for (std::size_t i = 0; i < kHolders; ++i) {
      holders.push_back(kind.open(i));
      most = std::max(most, open_files(kHome));
    }
    EXPECT_TRUE(welcomes(kHome, identity(kHome, net::Role::kWorker, "friend")));
    EXPECT_TRUE(cluster_.get(kHome, "/api/v1/status").has_value());
    most = std::max({most, open_files(kHome), files}) - files;
    const std::size_t growth = std::max(resident_kib(kHome), memory) - memory;
    std::printf("siege: %zu x %s: %zu held at most, %zu KiB more\n", kHolders, kind.name.c_str(), most, growth);
    EXPECT_LE(most, kind.at_once + kOthers);
    EXPECT_LT(growth, kGrowthLimitKiB);
    holders.clear();
    EXPECT_TRUE(eventually(kLimit, [&] { return open_files(kHome) <= files + kOthers; }));
  }
};

TEST_F(Siege, HeldConnectionsAreBoundedAndKeepNobodyOut) {
  for (const Kind& kind : kinds()) expect_bounded(kind);
}

TEST_F(Siege, WhoLeadsNowhereIsLetGoAtTheDeadline) {
  struct Case {
    std::string name;
    Holder holder;
    std::chrono::milliseconds limit;
    bool drips;
    std::optional<std::chrono::milliseconds> ended;
  };
  const Bytes hello = client_hello(), half(hello.begin(), hello.begin() + 20);
  std::vector<Case> cases;
  cases.push_back({"a handshake byte by byte", Holder(data(), half), kHandshakeDeadline, true, {}});
  cases.push_back({"half a handshake", Holder(data(), hello), kHandshakeDeadline, false, {}});
  cases.push_back({"no frame", Holder(data(), worker_, {}), kHelloDeadline, false, {}});
  cases.push_back({"a frame's header", Holder(data(), worker_, announcing(1000, 0)), kHelloDeadline, false, {}});
  const Bytes request = copy(view(std::string_view("GET /livez HTTP/1.1\r\nX: ")));
  cases.push_back({"a request byte by byte", Holder(admin(), request), kRequestDeadline, true, {}});
  const auto begun = std::chrono::steady_clock::now();
  const auto look = [&] {
    bool all = true;
    for (Case& one : cases) {
      if (one.ended) continue;
      if (one.drips) one.holder.drip();
      if (one.holder.closed()) {
        one.ended = std::chrono::duration_cast<std::chrono::milliseconds>(std::chrono::steady_clock::now() - begun);
      }
      all = all && one.ended;
    }
    return all;
  };
  EXPECT_TRUE(eventually(kLimit, look, std::chrono::milliseconds(100)));
  for (const Case& one : cases) {
    ASSERT_TRUE(one.ended.has_value()) << one.name << " is still held";
    std::printf("siege: %s: let go after %lld ms\n", one.name.c_str(), static_cast<long long>(one.ended->count()));
    EXPECT_GE(*one.ended, one.limit / 2) << one.name;
    EXPECT_LE(*one.ended, one.limit + std::chrono::seconds(4)) << one.name;
  }
}

}  // namespace
}  // namespace godwit::integration
