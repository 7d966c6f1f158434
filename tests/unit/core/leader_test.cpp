// What a leader answers to contributions, and how it changes the mode.
#include <gtest/gtest.h>

#include "server/core/open_aggregate.h"
#include "tests/unit/core/bench.h"

namespace godwit {
namespace {

using test::Bench;
using test::filled;

class LeaderTest : public ::testing::Test {
 protected:
  void SetUp() override { bench_.begin(filled(10)); }

  // A contribution of region 1, as its aggregator would send it.
  Offer offer(std::uint64_t sequence, std::uint64_t round, float value = 1, std::uint64_t epoch = 1) {
    OpenAggregate aggregate;
    test::PushParts parts;
    parts.worker = 50;
    parts.sequence = sequence;
    parts.round = round;
    aggregate.add(test::make_push(parts, filled(value)).header, filled(value), 1);
    Contribution made = aggregate.close(Layout(test::small_manifest()).shards[0], {CodecId::kFp32, false});
    made.header.region = RegionId(1);
    made.header.incarnation = Incarnation(77);
    made.header.sequence = SequenceNo(sequence);
    return {Epoch(epoch), share(made.header.encode()), made.payloads};
  }
  OfferReply answer(const Offer& offer) {
    bench_.deliver(1, 0, offer);
    const auto* reply = bench_.last_sent<OfferReply>();
    return reply ? *reply : OfferReply{};
  }
  Version version() { return bench_.shard(0).state().version(); }
  const EntryHeader& head() { return bench_.shard(0).state().head(); }

  Bench bench_{test::small_settings(), 2};
};

TEST_F(LeaderTest, TheFirstModelIsVersionOne) {
  EXPECT_EQ(version(), Version(1));
  EXPECT_EQ(head().kind, EntryKind::kInitial);
  const std::span<const float> values = bench_.shard(0).state().values();
  EXPECT_EQ(std::vector<float>(values.begin(), values.end()), filled(10));
  EXPECT_EQ(bench_.shard(1).state().version(), Version(1)) << "the follower replays it";
}

TEST_F(LeaderTest, ASecondModelIsNamedAsRefused) {
  test::PushParts parts;
  parts.worker = 60;
  parts.kind = PushKind::kInitial;
  parts.round = 0;
  parts.weight = 1;
  OpenAggregate aggregate;
  aggregate.add(test::make_push(parts, filled(3)).header, filled(3), 1);
  Contribution made = aggregate.close(Layout(test::small_manifest()).shards[0], {CodecId::kFp32, false});
  made.header.region = RegionId(1);
  made.header.incarnation = Incarnation(77);
  made.header.sequence = SequenceNo(1);
  bench_.deliver(1, 0, Offer{Epoch(1), share(made.header.encode()), made.payloads});
  EXPECT_EQ(version(), Version(2));
  EXPECT_EQ(head().kind, EntryKind::kRefused);
  EXPECT_EQ(head().contributions.at(0).verdict, Verdict::kRefused);
  EXPECT_EQ(bench_.shard(0).state().values()[0], 10) << "the model is unchanged";
}

TEST_F(LeaderTest, SequencesAreDense) {
  const OfferReply gap = answer(offer(2, 1));
  EXPECT_EQ(gap.outcome, OfferOutcome::kExpect);
  EXPECT_EQ(gap.expected, SequenceNo(1));
  EXPECT_EQ(version(), Version(1));

  EXPECT_EQ(answer(offer(1, 1)).outcome, OfferOutcome::kAccepted);
  EXPECT_EQ(version(), Version(2));
  EXPECT_EQ(answer(offer(2, 2)).outcome, OfferOutcome::kAccepted);
  EXPECT_EQ(version(), Version(3));

  const OfferReply again = answer(offer(1, 1));
  EXPECT_EQ(again.outcome, OfferOutcome::kDuplicate);
  EXPECT_GE(again.included, Version(2)) << "named at or before";
  EXPECT_EQ(version(), Version(3)) << "and not applied again";
}

TEST_F(LeaderTest, AnotherDataDirectoryStartsFromOne) {
  answer(offer(1, 1));
  Offer fresh = offer(1, 2);
  ContributionHeader header = *ContributionHeader::decode(view(fresh.header));
  header.incarnation = Incarnation(78);
  fresh.header = share(header.encode());
  EXPECT_EQ(answer(fresh).outcome, OfferOutcome::kAccepted);
  EXPECT_EQ(version(), Version(3));
}

TEST_F(LeaderTest, AnotherEpochIsRefusedAndChangesNothing) {
  for (const std::uint64_t epoch : {0U, 2U, 9U}) {
    const OfferReply reply = answer(offer(1, 1, 1, epoch));
    EXPECT_EQ(reply.outcome, OfferOutcome::kWrongEpoch);
    EXPECT_EQ(reply.epoch, Epoch(1));
  }
  EXPECT_EQ(version(), Version(1));
}

TEST_F(LeaderTest, PoisonIsNamedAndLeavesTheOutbox) {
  Offer poison = offer(1, 1);
  poison.payloads[1] = share(Bytes(poison.payloads[1]->size(), std::byte{0xFF}));
  EXPECT_EQ(answer(poison).outcome, OfferOutcome::kAccepted);
  EXPECT_EQ(head().kind, EntryKind::kRefused);
  EXPECT_EQ(head().contributions.at(0).sequence, SequenceNo(1));
  EXPECT_EQ(answer(offer(2, 2)).outcome, OfferOutcome::kAccepted) << "the sequence went on";
  EXPECT_EQ(head().kind, EntryKind::kRound);
}

TEST_F(LeaderTest, TheRoundIsAMeanByTokens) {
  bench_.join(0, 1, 6);
  bench_.hold_offers(true);
  test::PushParts parts;
  parts.weight = 6;
  bench_.push(0, parts, std::vector<float>(16, 1));
  bench_.hold_offers(false);
  bench_.deliver(1, 0, offer(1, 1, 0));  // weight 2, values 0, 1, 2, ...
  bench_.pass(milliseconds(1));
  ASSERT_EQ(head().kind, EntryKind::kRound);
  ASSERT_EQ(head().contributions.size(), 2U);
  EXPECT_FLOAT_EQ(bench_.shard(0).state().values()[5], 15 - (6.0F * 1 + 2.0F * 5) / 8);
}

TEST_F(LeaderTest, LateContributionsGoAloneByStaleness) {
  bench_.join(0, 1, 2);
  test::PushParts parts;
  for (std::uint64_t round = 1; round <= 5; ++round) {
    parts.round = parts.sequence = round;
    bench_.push(0, parts, std::vector<float>(16, 0));
  }
  ASSERT_EQ(head().round, Round(5));
  const float before = bench_.shard(0).state().values()[4];
  answer(offer(1, 3, 1));  // based on version 0: 5 rounds of weight 2
  EXPECT_EQ(head().kind, EntryKind::kLate);
  EXPECT_EQ(head().round, Round(5));
  EXPECT_DOUBLE_EQ(head().contributions.at(0).staleness_rounds, 5);
  EXPECT_FLOAT_EQ(head().contributions.at(0).factor, staleness_factor(5));
  EXPECT_FLOAT_EQ(bench_.shard(0).state().values()[4], before - 2 * 5.0F / 2 * staleness_factor(5));
}

TEST_F(LeaderTest, HashesOfAPastVersionAreThoseOfItsTime) {
  bench_.join(0, 1, 2);
  test::PushParts parts;
  std::vector<ShardCore::Hashes> then{{}, *bench_.shard(0).hashes(Version(1))};
  for (std::uint64_t round = 1; round <= 3; ++round) {
    parts.round = parts.sequence = round;
    bench_.push(0, parts, filled(static_cast<float>(round)));
    then.push_back(*bench_.shard(0).hashes(version()));
  }
  for (std::uint64_t past = 1; past <= 3; ++past) {
    const Result<ShardCore::Hashes> now = bench_.shard(0).hashes(Version(past));
    ASSERT_TRUE(now) << now.error().to_string();
    EXPECT_EQ(now->entry, then[past].entry) << past;
    EXPECT_EQ(now->blocks, then[past].blocks) << past;
  }
  EXPECT_EQ(bench_.shard(0).hashes(Version(9)).error().code, Errc::kNotFound);
}

// A worker may say of itself what it likes: no number of its makes a scalar that an entry cannot record.
TEST_F(LeaderTest, AWorkersWeightOfNothingIsHarmless) {
  bench_.from_worker(0, Leave{}, 1);
  bench_.join(0, 1, 1e-44F);
  test::PushParts parts;
  parts.sequence = parts.round = 1;
  bench_.push(0, parts, filled(1));
  parts.sequence = 2;  // the same round again: late
  bench_.push(0, parts, filled(1));
  EXPECT_EQ(head().kind, EntryKind::kLate);
  EXPECT_LE(head().inverse_weight, 1e6F) << head().round_weight;
}

TEST_F(LeaderTest, ModesAreEntriesAndOlderOnesAreIgnored) {
  bench_.set_mode(Mode::kSync, 4, 9);
  EXPECT_EQ(head().kind, EntryKind::kMode);
  EXPECT_EQ(head().mode, Mode::kSync);
  EXPECT_EQ(head().mode_epoch, ModeEpoch(4));
  EXPECT_EQ(head().sync_steps, 9U);
  const Version at = version();
  bench_.set_mode(Mode::kAsync, 3);
  bench_.set_mode(Mode::kAsync, 4);
  EXPECT_EQ(version(), at);
  bench_.set_mode(Mode::kAsync, 5);
  EXPECT_EQ(head().mode, Mode::kAsync);
  EXPECT_EQ(bench_.shard(1).state().head().mode_epoch, ModeEpoch(5));
}

TEST_F(LeaderTest, LeavingSyncCommitsOpenRoundsFirst) {
  bench_.join(0);
  bench_.set_mode(Mode::kSync, 1);
  answer(offer(1, 1));  // waits for region 0, which is live
  const Version at = version();
  EXPECT_EQ(head().kind, EntryKind::kMode);
  bench_.set_mode(Mode::kAsync, 2);
  EXPECT_EQ(version(), at.next().next());
  EXPECT_EQ(head().kind, EntryKind::kMode);
  EXPECT_EQ(head().round, Round(1)) << "the open round came first";
}

TEST_F(LeaderTest, ARestartedLeaderKeepsItsLogAndRefusesItsOldEpoch) {
  answer(offer(1, 1));
  bench_.close(0);
  ASSERT_TRUE(bench_.open(0));
  EXPECT_EQ(version(), Version(2));
  EXPECT_EQ(answer(offer(2, 2, 1, 1)).outcome, OfferOutcome::kWrongEpoch);
  EXPECT_EQ(answer(offer(1, 1, 1, 2)).outcome, OfferOutcome::kDuplicate);
  EXPECT_EQ(answer(offer(2, 2, 1, 2)).outcome, OfferOutcome::kAccepted);
  EXPECT_EQ(head().epoch, Epoch(2));
  EXPECT_EQ(bench_.shard(1).state().head_hash(), bench_.shard(0).state().head_hash());
}

}  // namespace
}  // namespace godwit
