// A real server among strangers: each is refused with a named reason, the server lives, does not grow, and its
// run goes on.
#include <gtest/gtest.h>

#include "server/app/permissions.h"
#include "shared/base/byte_stream.h"
#include "shared/base/checksum.h"
#include "tests/integration/besieged.h"
#include "tests/unit/net/bad_peers.h"

namespace godwit::integration {
namespace {

using net::BadPeer;
using net::Stranger;
using support::eventually;

constexpr std::size_t kRepetitions = 200;
constexpr std::size_t kWarmUp = 50;
constexpr std::size_t kGrowthLimitKiB = 4 * 1024;

// One thing that a peer should not do, and what the server's log must say about it.
struct Attack {
  std::string name;
  std::function<void()> perform;
  std::string reason;
};

class Security : public Besieged {
 protected:
  // Those who call, with their ports and what they say filled in.
  std::vector<BadPeer> bad_peers_of(const net::Identity& welcome, const std::string& wrong_region) const {
    std::vector<BadPeer> table = net::bad_peers(authority(config()), welcome, wrong_region);
    std::erase_if(table, [](const BadPeer& bad) { return bad.fault == BadPeer::kOfServer; });
    for (BadPeer& bad : table) {
      bad.stranger.port = home().data.port;
      bad.stranger.send = hello(welcome);
    }
    return table;
  }

  // Nothing but a reason comes back, and the log of that region's server names it.
  void expect_refused(const BadPeer& bad, const std::string& port, const net::Identity& welcome) {
    SCOPED_TRACE(bad.name + " as " + net::format_identity(welcome) + " at " + port);
    const std::size_t seen = cluster_.server_log(port).size();
    Stranger stranger = bad.stranger;
    stranger.port = config().find_server(port)->data.port;
    const Bytes received = visit(stranger).received;
    EXPECT_TRUE(received.empty() || is_goodbye(received));
    EXPECT_TRUE(eventually(kLimit, [&] {
      const std::string log = cluster_.server_log(port).substr(seen);
      return log.find("refused 127.0.0.1:") != std::string::npos && log.find(bad.reason) != std::string::npos;
    })) << "the log does not say '" << bad.reason << "' but\n" << cluster_.server_log(port).substr(seen);
  }

  // Each attack is carried out, and the log names the reason.
  void expect_refused(const std::vector<Attack>& attacks) {
    for (const Attack& attack : attacks) {
      const std::size_t seen = cluster_.server_log(kHome).size();
      attack.perform();
      EXPECT_TRUE(eventually(kLimit, [&] {
        return cluster_.server_log(kHome).find(attack.reason, seen) != std::string::npos;
      })) << attack.name << ": the log does not say '" << attack.reason << "' but\n"
          << cluster_.server_log(kHome).substr(seen);
      EXPECT_TRUE(cluster_.server(kHome).running()) << attack.name;
    }
  }

  // HELLO, then `more`, whatever it is.
  Bytes greeting(const Bytes& more) const {
    Bytes bytes = hello(own_worker_);
    bytes.insert(bytes.end(), more.begin(), more.end());
    return bytes;
  }
  // The header of a frame as long as that, valid but for its lengths.
  static Bytes announcing(std::uint32_t control_bytes, std::uint32_t payload_bytes) {
    const net::EncodedHeader valid = net::encode_header({MessageKind::kPush, 0, 0, 0});
    ByteWriter lengths;
    lengths.put(control_bytes);
    lengths.put(payload_bytes);
    const Bytes at_8 = lengths.take();
    Bytes header(valid.begin(), valid.begin() + 20);
    std::copy(at_8.begin(), at_8.end(), header.begin() + 8);
    ByteWriter sum;
    sum.put(static_cast<std::uint32_t>(checksum(header).value()));
    const Bytes last = sum.take();
    header.insert(header.end(), last.begin(), last.end());
    return header;
  }
  std::vector<Attack> broken_frames() const {
    ByteWriter gigabytes;  // the opening of a transfer, as in shared/wire/transfer.h
    gigabytes.put(std::uint32_t{1});
    gigabytes.put(std::uint64_t{1});
    gigabytes.put(std::uint32_t{4U << 20});
    gigabytes.put(~std::uint32_t{0});
    ByteWriter payloads;
    payloads.put(~std::uint32_t{0});
    Stranger cut_off = stranger(kHome, worker_, greeting(announcing(100, 0)));
    cut_off.leave = true;
    Bytes wrong_checksum = announcing(10, 0);
    wrong_checksum.back() ^= std::byte{1};
    const auto attack = [this](const char* name, Bytes bytes, const char* reason) {
      return Attack{name, [who = stranger(kHome, worker_, std::move(bytes))] { visit(who); }, reason};
    };
    return {attack("a frame of 2 GiB", greeting(announcing(1U << 31, 0)), "too-large"),
            attack("a payload of 4 GiB", greeting(announcing(0, ~0U)), "too-large"),
            attack("a transfer of 4 GiB", greeting(frame(MessageKind::kPush, gigabytes.take())), "too-large"),
            attack("four billion payloads", greeting(frame(MessageKind::kPush, payloads.take())), "too-large"),
            attack("a header with a wrong checksum", greeting(wrong_checksum), "malformed"),
            attack("a message kind that nobody knows", greeting(frame(MessageKind(999), Bytes(4))), "unsupported"),
            attack("a message that does not parse", greeting(frame(MessageKind::kSkip, Bytes(64))), "malformed"),
            attack("no HELLO", frame(MessageKind::kJoin, Bytes(4)), "malformed: a conversation starts with HELLO"),
            Attack{"a frame that ends early", [cut_off] { visit(cut_off); },
                   "impostor left: closed: in the middle of a frame"}};
  }

  Attack says(const std::string& name, const net::CertifiedKey& own, net::Incoming message,
              const std::string& reason) const {
    return {name, [this, own, message] {
              const Result<PushReply> outcome = say(config(), home(), own, {message});
              ASSERT_FALSE(outcome.has_value());
              EXPECT_EQ(outcome.error().code, Errc::kForbidden) << outcome.error().to_string();
            }, "forbidden: " + reason};
  }
  Push push(WorkerId worker) const {
    Push push;
    push.header.id = {worker, Incarnation(1), SequenceNo(1)};
    push.header.manifest = Hash(1);
    push.header.steps = 1;
    push.header.tokens = 1;
    push.header.weight = 1;
    return push;
  }
  std::vector<Attack> wrong_words() const {
    constexpr ShardId kLedHere{0};
    const RegionId away = config().find_server(kAway)->region_id;
    Replicate replicate;
    replicate.shard = kLedHere;
    replicate.entry.header.kind = EntryKind::kMode;
    replicate.entry.encoded = share(replicate.entry.header.encode());
    wire::ControlCall call;
    call.request.key = "run/mode";
    ContributionHeader contribution;
    contribution.region = away;
    contribution.sequence = SequenceNo(1);
    const Message offer = Offer{Epoch(1), share(contribution.encode()), {}};
    const Message subscribe = Subscribe{kLedHere, away, Incarnation(1), Epoch(1), Version(), Hash()};
    const Message presence = Presence{kLedHere, away, 1, 1.0, 0.1F};
    const Message replicated = Replicated{kLedHere, away, Epoch(1), Version(1), Hash()};
    return {says("a worker subscribes", worker_, subscribe, "a worker may not send Subscribe"),
            says("a worker replicates", worker_, Message(replicate), "a worker may not send Replicate"),
            says("a worker answers", worker_, Message(PushReply{}), "a worker may not send PushReply"),
            says("a worker asks the control store", worker_, call, "workers do not reach the control store"),
            says("a push in another's name", worker_, Message(push(WorkerId(7))), "a push in another worker's name"),
            says("a region subscribes for another", server_, subscribe, "a message in the name of region"),
            says("a region offers for another", server_, offer, "a message in the name of region"),
            says("a region is present for another", server_, presence, "a message in the name of region"),
            says("a region confirms for another", server_, replicated, "a message in the name of region"),
            says("a region announces rounds of shard 1", server_, Message(Announce{ShardId(1), {}, {}, 0}),
                 "rounds are announced by the leader of shard 0 only"),
            says("a server trains", server_, Message(push(app::worker_id(own_worker_))), "a server may not send Push")};
  }
};

// At both servers: the one that hosts the control store, and another. Each has one port for all that speak TLS.
TEST_F(Security, BadPeersAreRefusedAtEveryPortBeforeTheyAreHeard) {
  std::size_t kinds = 0, visits = 0;
  for (const std::string port : {kHome, kAway}) {
    const net::Identity worker = identity(port, net::Role::kWorker, "impostor");
    const net::Identity server = identity(kAbsent, net::Role::kServer, kAbsent);
    const std::string elsewhere = port == kHome ? kAway : kHome;
    for (const auto& [welcome, wrong_region] : {std::pair(worker, elsewhere), {server, port}}) {
      const std::vector<BadPeer> table = bad_peers_of(welcome, wrong_region);
      for (const BadPeer& bad : table) expect_refused(bad, port, welcome);
      kinds = table.size();
      visits += kinds;
      EXPECT_TRUE(welcomes(port, welcome)) << net::format_identity(welcome) << " at " << port;
    }
    EXPECT_TRUE(cluster_.server(port).running());
  }
  std::printf("security: %zu kinds of bad peers, %zu refused as worker or server at 2 ports\n", kinds, visits);
  EXPECT_GE(kinds, 30U);
}

TEST_F(Security, AGreetingThatIsNotTheCertificatesIsRefused) {
  const auto says = [this](const char* field, net::Identity claimed, const char* reason) {
    return Attack{field, [this, claimed] { visit(stranger(kHome, worker_, hello(claimed))); }, reason};
  };
  expect_refused({says("cluster", {"other", kHome, net::Role::kWorker, "impostor"}, "HELLO says cluster 'other'"),
                  says("region", identity(kAway, net::Role::kWorker, "impostor"), "HELLO says region 'away'"),
                  says("role", identity(kHome, net::Role::kServer, "impostor"), "HELLO says role 'server'"),
                  says("name", identity(kHome, net::Role::kWorker, "worker-0"), "HELLO says name 'worker-0'")});
}

TEST_F(Security, TwoWorkersOfOneNameAreToldSo) {
  const std::size_t acknowledged = cluster_.acknowledgements(kHome);
  EXPECT_TRUE(welcomes(kHome, identity(kHome, net::Role::kWorker, "worker-0")));
  EXPECT_NE(cluster_.worker(kHome).wait(kLimit), 0);
  EXPECT_NE(cluster_.logs().find("another process connected as worker 'worker-0' of region 'home'"), std::string::npos)
      << cluster_.logs();
  EXPECT_GE(cluster_.acknowledgements(kHome), acknowledged);
}

TEST_F(Security, TwoServersOfOneRegionAreToldSo) {
  EXPECT_TRUE(welcomes(kHome, identity(kAway, net::Role::kServer, kAway)));
  EXPECT_TRUE(eventually(kLimit, [&] {
    return cluster_.server_log(kAway).find("two processes run with its certificate") != std::string::npos;
  })) << cluster_.logs();
  EXPECT_TRUE(cluster_.server(kAway).running());
}

TEST_F(Security, BrokenFramesEndTheirOwnConnection) { expect_refused(broken_frames()); }

TEST_F(Security, WhatARoleMayNotSayEndsItsConnection) { expect_refused(wrong_words()); }

TEST_F(Security, APushOfAnotherModelIsRefusedByName) {
  Push other_model = push(app::worker_id(own_worker_));
  other_model.payloads.push_back(share(Bytes(1024 * sizeof(float))));
  const Result<PushReply> reply = say(config(), home(), worker_, {Message(Join{1}), Message(other_model)});
  ASSERT_TRUE(reply.has_value()) << reply.error().to_string();
  EXPECT_EQ(reply->outcome, PushOutcome::kRefused);
  EXPECT_EQ(reply->reason, Errc::kConflict) << reply->detail;
  EXPECT_NE(reply->detail.find("another model"), std::string::npos) << reply->detail;
}

TEST_F(Security, MemoryDoesNotGrowWithAttacks) {
  cluster_.kill_worker(kHome);  // so that only attacks are at work
  std::vector<Attack> attacks;
  for (const BadPeer& bad : bad_peers_of(own_worker_, kAway)) {
    attacks.push_back({bad.name, [who = bad.stranger] { visit(who); }, bad.reason});
    attacks.back().perform();  // once, before anything is measured
  }
  for (auto& more : {broken_frames(), wrong_words()}) attacks.insert(attacks.end(), more.begin(), more.end());
  std::size_t before = 0;
  for (std::size_t i = 0; i < kWarmUp + kRepetitions; ++i) {
    if (i == kWarmUp) before = resident_kib(kHome);
    attacks[i % attacks.size()].perform();
  }
  const std::size_t after = resident_kib(kHome);
  std::printf("security: resident %zu KiB, %zu KiB after %zu attacks\n", before, after, kRepetitions);
  EXPECT_GT(before, 0U);
  EXPECT_LT(after, before + kGrowthLimitKiB);
}

}  // namespace
}  // namespace godwit::integration
