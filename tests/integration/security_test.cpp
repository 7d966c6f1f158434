// A real server among strangers: each is refused with a named reason, the server lives, does not grow, and its
// run goes on.
#include <gtest/gtest.h>

#include <fstream>

#include "server/app/permissions.h"
#include "shared/base/byte_stream.h"
#include "shared/base/checksum.h"
#include "tests/integration/impostor.h"
#include "tests/support/local_cluster.h"
#include "tests/unit/net/stranger.h"

namespace godwit::integration {
namespace {

using net::Stranger;
using support::eventually;

constexpr auto kLimit = std::chrono::seconds(20);
constexpr std::size_t kRepetitions = 200;
constexpr std::size_t kWarmUp = 50;
constexpr std::size_t kGrowthLimitKiB = 4 * 1024;
const std::string kHome = "home", kAway = "away", kAbsent = "absent";  // kAbsent's server never runs

// One thing that a peer should not do, and what the server's log must say about it.
struct Attack {
  std::string name;
  std::function<void()> perform;
  std::string reason;
};

class Security : public ::testing::Test {
 protected:
  Security() : cluster_(plan(), [](ClusterConfig& config) { config.run.leaders = {RegionId(0), RegionId(1)}; }) {
    worker_ = forge(config(), own_worker_);
    server_ = forge(config(), {config().name, kAbsent, net::Role::kServer, kAbsent});
  }

  void SetUp() override {
    cluster_.start_server(kHome);
    cluster_.start_server(kAway);
    cluster_.start_worker(kHome);
    ASSERT_TRUE(trains_on()) << cluster_.logs();
  }

  void TearDown() override {
    EXPECT_TRUE(cluster_.server(kHome).running()) << "the server died\n" << cluster_.logs();
    if (!cluster_.worker(kHome).running()) cluster_.start_worker(kHome);
    EXPECT_TRUE(trains_on()) << "the run stands still\n" << cluster_.logs();
  }

  static cli::InitFlags plan() {
    cli::InitFlags plan;
    plan.regions = kHome + "," + kAway + "," + kAbsent;
    plan.window = "300ms";
    plan.block_parameters = 1024;
    return plan;
  }

  const ClusterConfig& config() const { return cluster_.config(); }
  const ServerConfig& home() const { return *config().find_server(kHome); }

  // Two versions more than now, on both shards, at home.
  bool trains_on() const {
    std::vector<support::ShardView> before;
    return eventually(kLimit, [&] {
      const std::vector<support::ShardView> now = cluster_.shards(kHome);
      if (now.empty()) return false;
      if (before.empty()) before = now;
      return now[0].version >= before[0].version + 2 && now[1].version >= before[1].version + 2;
    });
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

  Stranger stranger(const std::optional<net::CertifiedKey>& own, Bytes send = {}) const {
    Stranger stranger;
    stranger.port = home().data.port;
    stranger.own = own;
    stranger.send = std::move(send);
    return stranger;
  }
  Stranger with_identity(const std::string& region, net::Role role, const std::string& cluster = "") const {
    return stranger(forge(config(), {cluster.empty() ? config().name : cluster, region, role, "someone"}));
  }
  std::vector<Attack> strangers() const {
    const auto authority = net::create_authority(config().name, net::valid_for_days(1));
    const auto false_worker = net::issue_certificate(*authority, own_worker_, net::valid_for_days(1));
    Stranger garbage = stranger(std::nullopt);
    garbage.tls = false;
    garbage.before_tls = Bytes(4096, std::byte{'x'});
    Stranger old_tls = stranger(worker_);
    old_tls.only_tls_1_2 = true;
    const auto attack = [](const char* name, const Stranger& who, const char* reason) {
      return Attack{name, [who] { visit(who); }, reason};
    };
    return {attack("another authority", stranger(*false_worker), "unauthenticated"),
            attack("no certificate", stranger(std::nullopt), "unauthenticated"),
            attack("garbage instead of TLS", garbage, "malformed"),
            attack("TLS 1.2", old_tls, "unsupported"),
            attack("another cluster", with_identity(kHome, net::Role::kWorker, "other"), "of cluster 'other'"),
            attack("a worker of another region", with_identity(kAway, net::Role::kWorker),
                   "forbidden: workers talk only to their own region's server"),
            attack("a server of this region", with_identity(kHome, net::Role::kServer),
                   "forbidden: a server of this very region"),
            attack("a server of no region", with_identity("mars", net::Role::kServer),
                   "forbidden: cluster.toml knows no region 'mars'"),
            attack("an operator", with_identity(kHome, net::Role::kOperator), "forbidden: operators use")};
  }

  static Bytes frame(MessageKind kind, const Bytes& control) {
    const net::EncodedHeader header =
        net::encode_header({kind, static_cast<std::uint32_t>(control.size()), 0, 0});
    Bytes bytes(header.begin(), header.end());
    bytes.insert(bytes.end(), control.begin(), control.end());
    return bytes;
  }
  // HELLO, then `more`, whatever it is.
  Bytes greeting(const Bytes& more) const {
    const wire::Hello hello{wire::kConversationVersion, config().name, "worker", kHome, own_worker_.name, Hash()};
    Bytes bytes = frame(MessageKind::kHello, wire::encode(hello));
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
    Stranger cut_off = stranger(worker_, greeting(announcing(100, 0)));
    cut_off.leave = true;
    Bytes wrong_checksum = announcing(10, 0);
    wrong_checksum.back() ^= std::byte{1};
    const auto attack = [this](const char* name, Bytes bytes, const char* reason) {
      return Attack{name, [who = stranger(worker_, std::move(bytes))] { visit(who); }, reason};
    };
    return {attack("a frame of 2 GiB", greeting(announcing(1U << 31, 0)), "too-large"),
            attack("a payload of 4 GiB", greeting(announcing(0, ~0U)), "too-large"),
            attack("a transfer of 4 GiB", greeting(frame(MessageKind::kPush, gigabytes.take())), "too-large"),
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

  std::size_t resident_kib() {
    std::ifstream in("/proc/" + std::to_string(cluster_.server(kHome).pid()) + "/status");
    for (std::string word; in >> word;) {
      if (word == "VmRSS:") {
        std::size_t kib = 0;
        in >> kib;
        return kib;
      }
    }
    return 0;
  }

  support::LocalCluster cluster_;
  const net::Identity own_worker_{config().name, kHome, net::Role::kWorker, "impostor"};
  net::CertifiedKey worker_;  // may converse at home
  net::CertifiedKey server_;  // may, too: of kAbsent
};

TEST_F(Security, StrangersAreRefusedBeforeTheySayAWord) { expect_refused(strangers()); }

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
  std::vector<Attack> attacks = strangers();
  for (auto& more : {broken_frames(), wrong_words()}) attacks.insert(attacks.end(), more.begin(), more.end());
  std::size_t before = 0;
  for (std::size_t i = 0; i < kWarmUp + kRepetitions; ++i) {
    if (i == kWarmUp) before = resident_kib();
    attacks[i % attacks.size()].perform();
  }
  const std::size_t after = resident_kib();
  std::printf("security: resident %zu KiB, %zu KiB after %zu attacks\n", before, after, kRepetitions);
  EXPECT_GT(before, 0U);
  EXPECT_LT(after, before + kGrowthLimitKiB);
}

}  // namespace
}  // namespace godwit::integration
