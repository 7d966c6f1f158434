// Who leads: the in-sync set, a lead that moves, what an older leader left behind, and when a
// region proposes itself.
#include <gtest/gtest.h>

#include <algorithm>

#include "server/core/recovery.h"
#include "server/core/succession.h"
#include "tests/unit/core/bench.h"

namespace godwit {
namespace {

using test::Bench;
using test::filled;

constexpr Incarnation kDisk{7};  // what Bench gives to every region

class FailoverTest : public ::testing::Test {
 protected:
  explicit FailoverTest(AckClass ack = test::small_settings().ack) : bench_(settings(ack), 3) {}
  void SetUp() override {
    bench_.begin(filled(1));
    for (std::uint32_t region = 0; region < 3; ++region) bench_.join(region, region + 1);
  }
  // Every worker pushes once, each with its region's number.
  void round() {
    ++round_;
    for (std::uint32_t region = 0; region < 3; ++region) push(region);
  }
  void push(std::uint32_t region) {
    ++made_[region];
    repeat(region);
  }
  // The push that was made last.
  void repeat(std::uint32_t region) {
    test::PushParts parts;
    parts.worker = region + 1;
    parts.sequence = made_[region];
    parts.round = round_;
    parts.steps = 20;
    bench_.push(region, parts, filled(0.1F * static_cast<float>(region + 1)));
  }
  Version version(std::uint32_t region) { return bench_.shard(region).state().version(); }
  Hash hash(std::uint32_t region) { return bench_.shard(region).state().head_hash(); }
  InSync in_sync() { return bench_.record().in_sync; }
  void isolate(std::uint32_t region) {
    for (std::uint32_t other = 0; other < 3; ++other) {
      if (other != region) bench_.cut(region, other);
    }
  }
  void return_of(std::uint32_t region) {
    bench_.tell(region);
    for (std::uint32_t other = 0; other < 3; ++other) {
      if (other != region) bench_.heal(region, other);
    }
  }
  static RunSettings settings(AckClass ack) {
    RunSettings settings = test::small_settings();
    settings.ack = ack;
    settings.nesterov_steps_min = 2;
    settings.snapshot_versions = 2;
    return settings;
  }

  Bench bench_;
  std::uint64_t round_ = 0;
  std::uint64_t made_[3] = {0, 0, 0};
};

TEST_F(FailoverTest, EveryReplicaThatCaughtUpIsInSync) {
  EXPECT_EQ(in_sync(), (InSync{{RegionId(0), kDisk}, {RegionId(1), kDisk}, {RegionId(2), kDisk}}));
}

TEST_F(FailoverTest, TheWatermarkWaitsUntilTheSetShrank) {
  isolate(2);
  round();
  bench_.pass(milliseconds(600));  // the grace of the round
  EXPECT_EQ(version(0), Version(2));
  EXPECT_EQ(bench_.shard(0).watermark(), Version(1))
      << "region 2 is in the set and does not hold version 2";
  bench_.pass(seconds(2));  // the lease
  EXPECT_FALSE(in_sync().contains(RegionId(2)));
  EXPECT_EQ(bench_.shard(0).watermark(), version(0));
  return_of(2);
  EXPECT_TRUE(in_sync().contains(RegionId(2))) << "it caught up";
}

TEST_F(FailoverTest, ANewLeaderGoesOnFromWhereItIs) {
  round();
  EXPECT_EQ(version(1), Version(2));
  bench_.wish(1);
  EXPECT_TRUE(bench_.shard(1).leads());
  EXPECT_FALSE(bench_.shard(0).leads());
  EXPECT_EQ(bench_.shard(1).state().head().kind, EntryKind::kPromotion);
  round();
  EXPECT_EQ(version(1), Version(4)) << "2, the promotion, and a round with all three regions";
  EXPECT_EQ(bench_.shard(1).state().head().contributions.size(), 3U);
  for (std::uint32_t region : {0U, 2U}) {
    EXPECT_EQ(hash(region), hash(1));
    EXPECT_EQ(bench_.shard(region).watermark(), Version(4));
    EXPECT_EQ(bench_.shard(region).status().outbox_items, 0U);
  }
}

TEST_F(FailoverTest, WhatOnlyTheOldLeaderHasIsTruncatedAndOfferedAgain) {
  isolate(0);
  round();
  bench_.pass(milliseconds(600));  // region 0 commits a version of its own
  const Hash forked = hash(0);
  EXPECT_EQ(version(0), Version(2));
  bench_.wish(1);
  bench_.pass(milliseconds(600));
  EXPECT_TRUE(bench_.shard(1).leads());
  EXPECT_GE(version(1), Version(3)) << "the promotion, and the round of regions 1 and 2";
  return_of(0);
  bench_.pass(milliseconds(600));
  EXPECT_FALSE(bench_.shard(0).leads());
  EXPECT_GE(bench_.notices(Notice::Kind::kForked), 1U);
  EXPECT_EQ(hash(0), hash(1));
  EXPECT_NE(hash(0), forked);
  EXPECT_EQ(bench_.shard(0).status().outbox_items, 0U)
      << "its contribution is named by the new leader";
  const auto named = bench_.store(1).get(
      Family::kPushes, records::push_key(ShardId(), {WorkerId(1), Incarnation(1), SequenceNo(1)}));
  ASSERT_TRUE(named && *named);
}

class CommittedFailoverTest : public FailoverTest {
 protected:
  CommittedFailoverTest() : FailoverTest(AckClass::kCommitted) {}
  std::size_t acknowledgements() {
    const std::vector<Message> replies = bench_.take_replies();
    return static_cast<std::size_t>(std::count_if(replies.begin(), replies.end(), [](const Message& message) {
      const auto* reply = std::get_if<PushReply>(&message);
      return reply != nullptr && reply->outcome == PushOutcome::kAcknowledged;
    }));
  }
};

TEST_F(CommittedFailoverTest, WhatATruncatedEntryNamedIsAcknowledgedWhenItIsNamedAgain) {
  isolate(0);
  bench_.take_replies();
  ++round_;
  push(0);
  bench_.pass(milliseconds(600));
  EXPECT_EQ(acknowledgements(), 1U) << "committed, in this replica";
  bench_.wish(1);
  bench_.hold_offers(true);
  return_of(0);
  EXPECT_EQ(hash(0), hash(1)) << "its own version is gone";
  bench_.take_replies();
  repeat(0);  // the answer was lost with a connection
  EXPECT_EQ(acknowledgements(), 0U);
  bench_.hold_offers(false);
  for (int i = 0; i < 2; ++i) bench_.pass(milliseconds(600));  // it arrives; the grace of its round
  EXPECT_EQ(acknowledgements(), 1U);
}

TEST_F(FailoverTest, AnOlderLeadersWordsChangeNothing) {
  bench_.wish(1);
  const Hash before = hash(2);
  EntryHeader header = bench_.shard(2).state().head();
  header.version = header.version.next();
  header.previous = before;
  header.epoch = Epoch(1);
  header.leader = RegionId(0);
  header.kind = EntryKind::kMode;
  bench_.deliver(0, 2, Lead{ShardId(), Epoch(1)});
  bench_.deliver(0, 2, Replicate{ShardId(), Epoch(1), Version(1), records::make_entry(header, {})});
  EXPECT_EQ(hash(2), before);
  EXPECT_EQ(bench_.shard(2).leader_region(), RegionId(1));
}

TEST_F(FailoverTest, MomentumIsZeroAfterAPromotionAlsoWhenItIsRecovered) {
  for (int i = 0; i < 5; ++i) round();
  bench_.wish(1);
  bench_.wish(0);  // it led before, and its snapshots hold the momentum of that time
  const ShardState& state = bench_.shard(0).state();
  const auto recovered = recover_shard(bench_.store(0), ShardId(),
                                       Layout(test::small_manifest()).shards[0], RegionId(0));
  ASSERT_TRUE(recovered) << recovered.error().to_string();
  for (std::uint32_t block = 0; block < state.block_count(); ++block) {
    EXPECT_TRUE(std::ranges::equal(recovered->state.velocity(block), state.velocity(block)))
        << block;
  }
  round();
  bench_.close(0);
  ASSERT_TRUE(bench_.open(0))
      << "a restarted leader recovers what it committed since it leads again";
  round();
  EXPECT_EQ(hash(1), hash(0));
}

TEST(ClaimAtStart, FollowsTheTable) {
  const RegionId self(0), other(1);
  const Incarnation lost(6);
  const auto held = [&](RegionId leader, InSync in_sync) {
    return HeldRecord{{leader, Epoch(4), Epoch(3), std::move(in_sync)}, Revision(9)};
  };
  const auto claim = [&](const HeldRecord& record, RegionId first, bool memory = false) {
    return claim_at_start(record, first, self, kDisk, memory);
  };
  EXPECT_EQ(**claim({}, self), (ShardRecord{self, Epoch(1), Epoch(1), {{self, kDisk}}}));
  EXPECT_FALSE(*claim({}, other)) << "somebody else is to lead first";
  EXPECT_FALSE(*claim(held(other, {{other, kDisk}, {self, kDisk}}), self));
  EXPECT_EQ(**claim(held(self, {{self, kDisk}, {other, kDisk}}), self),
            (ShardRecord{self, Epoch(5), Epoch(3), {{self, kDisk}, {other, kDisk}}}))
      << "the same tenure: its momentum is recovered";
  EXPECT_EQ(**claim(held(self, {{self, lost}, {other, kDisk}}), self),
            (ShardRecord{other, Epoch(5), Epoch(5), {{other, kDisk}}}))
      << "its disk is gone: another member is to lead";
  EXPECT_EQ(claim(held(self, {{self, lost}}), self).error().code, Errc::kUnavailable);
  EXPECT_EQ(**claim(held(self, {{self, lost}}), self, true),
            (ShardRecord{self, Epoch(5), Epoch(3), {{self, kDisk}}}));
}

class SuccessionTest : public ::testing::Test {
 protected:
  std::optional<TimePoint> due(std::uint32_t self, std::uint32_t shard = 0) const {
    return succession_.due(ShardId(shard), record_, RegionId(self), kDisk);
  }
  static constexpr TimePoint kNow{seconds(100)};
  Succession succession_{seconds(4)};
  ShardRecord record_{RegionId(0),
                      Epoch(1),
                      Epoch(1),
                      {{RegionId(0), kDisk}, {RegionId(1), kDisk}, {RegionId(2), kDisk}}};
};

TEST_F(SuccessionTest, ALeaseThatIsHeldOrUnheardOfIsNoReason) {
  EXPECT_FALSE(due(1));
  succession_.on_lease(RegionId(0), true, kNow);
  EXPECT_FALSE(due(1));
}

TEST_F(SuccessionTest, MembersTakeTurnsByShard) {
  for (std::uint32_t region = 0; region < 3; ++region)
    succession_.on_lease(RegionId(region), true, kNow);
  succession_.on_lease(RegionId(0), false, kNow);
  EXPECT_EQ(due(1), kNow + seconds(1));
  EXPECT_EQ(due(2), kNow + seconds(2));
  EXPECT_EQ(due(1, 1), kNow + seconds(2));
  EXPECT_EQ(due(2, 1), kNow + seconds(1));
  EXPECT_FALSE(due(0)) << "the leader itself";
  record_.in_sync[RegionId(2)] = Incarnation(6);
  EXPECT_FALSE(due(2)) << "another disk was in sync";
  record_.in_sync.erase(RegionId(2));
  EXPECT_FALSE(due(2));
  succession_.on_lease(RegionId(0), true, kNow + seconds(1));
  EXPECT_FALSE(due(1)) << "it is back";
}

TEST_F(SuccessionTest, AClusterThatStartsGivesTheLeaderItsTime) {
  succession_.on_lease(RegionId(0), false, kNow);  // the first that is heard of it
  EXPECT_EQ(due(1), kNow + seconds(4) + seconds(1));
}

}  // namespace
}  // namespace godwit
