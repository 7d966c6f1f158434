#include "server/app/permissions.h"

#include <gtest/gtest.h>

#include <set>

namespace godwit::app {
namespace {

constexpr RegionId kControl{0}, kHere{1}, kOther{2};
constexpr ShardId kLedHere{0}, kLedByOther{1};
const WorkerId kWorker = worker_id({"test", "here", net::Role::kWorker, "w0"});

ClusterConfig three_regions() {
  ClusterConfig config;
  config.name = "test";
  config.control = "control";
  config.regions = {"control", "here", "other"};
  for (std::uint32_t id = 0; id < 3; ++id) {
    config.servers.push_back({config.regions[id], config.regions[id], RegionId(id), {}, {}});
  }
  config.run.shards = 2;
  config.run.leaders = {kHere, kOther};
  return config;
}

class Permissions : public ::testing::Test {
 protected:
  const ClusterConfig config = three_regions();
  const Standpoint here{config, kHere};
  const Standpoint control{config, kControl};  // hosts the control store

  static Message offer(RegionId region, ShardId shard) {
    ContributionHeader header;
    header.region = region;
    header.shard = shard;
    header.sequence = SequenceNo(1);
    return Offer{Epoch(1), share(header.encode()), {}};
  }
  // What a region says to a leader, about itself.
  static std::vector<Message> to_leader(RegionId region, ShardId shard) {
    return {Subscribe{shard, region, {}, {}, {}, {}}, EmptyOffer{shard, {}, region, {}},
            Replicated{shard, region, {}, {}, {}}, Presence{shard, region, 1, 1, 0}, offer(region, shard)};
  }
  static std::vector<Message> from_leader(ShardId shard) {
    Replicate replicate;
    replicate.shard = shard;
    Install install;
    install.shard = shard;
    OfferReply reply;
    reply.shard = shard;
    return {Lead{shard, {}}, Subscribed{shard, {}, {}, {}, {}}, replicate, Watermark{shard, {}, {}}, install, reply};
  }
  static Push push_of(WorkerId worker) {
    Push push;
    push.header.id.worker = worker;
    return push;
  }
  static Pull pull_about(WorkerId worker) {
    Pull pull;
    pull.pending = PushId{worker, Incarnation(1), SequenceNo(1)};
    return pull;
  }
  static std::vector<Message> from_worker(WorkerId worker) {
    return {ManifestOffer{}, Join{1}, Leave{}, push_of(worker), Skip{}, Pull{}, pull_about(worker)};
  }
  static std::vector<Message> to_worker() {
    return {ManifestReply{}, PushReply{}, PullReply{}, Announce{}, Stop{}};
  }
  static void expect_forbidden(const Result<void>& answer, const std::string& text) {
    ASSERT_FALSE(answer.has_value()) << text;
    EXPECT_EQ(answer.error().code, Errc::kForbidden);
    EXPECT_NE(answer.error().context.find(text), std::string::npos) << answer.error().context;
  }
};

TEST_F(Permissions, WorkersOfThisRegionAndServersOfOthersMayConverse) {
  EXPECT_TRUE(may_converse({"test", "here", net::Role::kWorker, "w0"}, here).has_value());
  EXPECT_TRUE(may_converse({"test", "other", net::Role::kServer, "other"}, here).has_value());
  expect_forbidden(may_converse({"elsewhere", "here", net::Role::kWorker, "w0"}, here), "cluster 'elsewhere'");
  expect_forbidden(may_converse({"test", "other", net::Role::kWorker, "w0"}, here), "the certificate of 'other'");
  expect_forbidden(may_converse({"test", "here", net::Role::kServer, "here"}, here), "this very region");
  expect_forbidden(may_converse({"test", "mars", net::Role::kServer, "mars"}, here), "no region 'mars'");
  expect_forbidden(may_converse({"test", "here", net::Role::kOperator, "me"}, here), "admin port");
}

TEST_F(Permissions, AGreetingSaysWhatTheCertificateSays) {
  const net::Identity peer{"test", "here", net::Role::kWorker, "w0"};
  wire::Hello hello{wire::kConversationVersion, "test", "worker", "here", "w0", Hash()};
  EXPECT_TRUE(may_greet(peer, hello));
  for (std::string wire::Hello::*field :
       {&wire::Hello::cluster, &wire::Hello::role, &wire::Hello::region, &wire::Hello::name}) {
    wire::Hello other = hello;
    other.*field = "server";
    expect_forbidden(may_greet(peer, other), "'server', the certificate '" + hello.*field + "'");
  }
}

TEST_F(Permissions, AWorkerTrainsInItsOwnName) {
  for (const Message& message : from_worker(kWorker)) EXPECT_TRUE(may_send(kWorker, message)) << message.index();
  const WorkerId stranger(kWorker.value() + 1);
  expect_forbidden(may_send(kWorker, Message(push_of(stranger))), "another worker's name");
  expect_forbidden(may_send(kWorker, Message(pull_about(stranger))), "another worker's push");
}

TEST_F(Permissions, AWorkerSaysNothingThatServersSay) {
  std::vector<Message> messages = to_worker();
  for (const Message& message : to_leader(kHere, kLedHere)) messages.push_back(message);
  for (const Message& message : from_leader(kLedHere)) messages.push_back(message);
  for (const Message& message : messages) expect_forbidden(may_send(kWorker, message), "a worker may not send ");
  expect_forbidden(may_send(kWorker, messages[5]), "Subscribe");
  expect_forbidden(may_send(kWorker, wire::ControlCall{}), "control store");
  expect_forbidden(may_send(kWorker, wire::ControlAnswer{}), "control store");
}

TEST_F(Permissions, ARegionSpeaksForItself) {
  for (const Message& message : to_leader(kOther, kLedHere)) EXPECT_TRUE(may_send(kOther, message, here));
  for (const Message& message : to_leader(kControl, kLedHere)) {
    expect_forbidden(may_send(kOther, message, here), "in the name of region");
  }
}

TEST_F(Permissions, AContributionWithATornHeaderIsMalformed) {
  Bytes header = *std::get<Offer>(offer(kOther, kLedHere)).header;
  header.pop_back();
  const Result<void> answer = may_send(kOther, Message(Offer{Epoch(1), share(std::move(header)), {}}), here);
  ASSERT_FALSE(answer.has_value());
  EXPECT_EQ(answer.error().code, Errc::kMalformed) << answer.error().to_string();
}

// Who leads changes while the run goes on: the core compares epochs, which only one region can have won.
TEST_F(Permissions, EveryRegionMayLead) {
  for (const Message& message : from_leader(kLedByOther)) EXPECT_TRUE(may_send(kOther, message, here));
}

TEST_F(Permissions, RoundsAreAnnouncedByTheLeaderOfShardZero) {
  EXPECT_TRUE(may_send(kHere, Message(Announce{ShardId(0), {}, {}, 0}), control));
  expect_forbidden(may_send(kOther, Message(Announce{ShardId(1), {}, {}, 0}), control), "shard 0 only");
}

TEST_F(Permissions, ARegionKeepsItsOwnLeaseAndChangesWhatTheRegionsAgreeOn) {
  const auto asks = [this](ControlKind kind, const std::string& key) {
    ControlRequest request;
    request.kind = kind;
    request.key = key;
    return may_send(kOther, wire::ControlCall{1, request}, control);
  };
  for (const ControlKind kind : {ControlKind::kGet, ControlKind::kList, ControlKind::kWatch}) {
    EXPECT_TRUE(asks(kind, "anything"));
  }
  EXPECT_TRUE(asks(ControlKind::kLeaseKeepalive, control_keys::region_lease(kOther)));
  expect_forbidden(asks(ControlKind::kLeaseKeepalive, control_keys::region_lease(kHere)), "may not keep the lease");
  expect_forbidden(asks(ControlKind::kLeaseKeepalive, "shard/0/leader"), "may not keep the lease");
  for (const std::string key : {"shard/0/leader", "run/mode", "run/manifest"}) {
    EXPECT_TRUE(asks(ControlKind::kCompareAndSwap, key)) << key;
  }
  for (const std::string key : {"shard/x/leader", "region/0/lease", "shard/0/in_sync", "else"}) {
    expect_forbidden(asks(ControlKind::kCompareAndSwap, key), "no server may change");
  }
}

TEST_F(Permissions, TheControlStoreIsAskedWhereItIs) {
  ControlRequest get;
  get.key = "run/mode";
  EXPECT_TRUE(may_send(kOther, wire::ControlCall{1, get}, control));
  expect_forbidden(may_send(kOther, wire::ControlCall{}, here), "not here");
  EXPECT_TRUE(may_send(kControl, wire::ControlAnswer{}, here));
  expect_forbidden(may_send(kOther, wire::ControlAnswer{}, here), "control host");
}

TEST_F(Permissions, AServerSaysNothingThatWorkersSayOrHear) {
  for (const Message& message : from_worker(kWorker)) {
    expect_forbidden(may_send(kOther, message, here), "a server may not send ");
  }
  for (const Message& message : to_worker()) {
    if (std::holds_alternative<Announce>(message)) continue;  // leaders announce to regions, too
    expect_forbidden(may_send(kOther, message, here), "a server may not send ");
  }
}

TEST_F(Permissions, EveryMessageIsJudgedAbove) {
  std::set<std::size_t> judged;
  for (const auto& group : {from_worker(kWorker), to_worker(), to_leader(kHere, kLedHere), from_leader(kLedHere)}) {
    for (const Message& message : group) judged.insert(message.index());
  }
  EXPECT_EQ(judged.size(), std::variant_size_v<Message>);
}

}  // namespace
}  // namespace godwit::app
