// The region's promise to its workers: acknowledged is durable, full is an answer, repeated is harmless.
#include <gtest/gtest.h>

#include "tests/unit/core/bench.h"

namespace godwit {
namespace {

using test::Bench;
using test::filled;
using test::PushParts;

PushParts numbered(std::uint64_t sequence, std::uint64_t round, std::uint64_t worker = 1) {
  PushParts parts;
  parts.worker = worker;
  parts.sequence = sequence;
  parts.round = round;
  return parts;
}

std::vector<PushReply> push_replies(Bench& bench) {
  std::vector<PushReply> replies;
  for (const Message& message : bench.take_replies()) {
    if (const auto* reply = std::get_if<PushReply>(&message)) replies.push_back(*reply);
  }
  return replies;
}

std::size_t times_named(const MemoryStore& store, const PushId& id, Version last) {
  std::size_t times = 0;
  for (Version version(1); version <= last; version = version.next()) {
    const auto entry = records::read_entry(store, ShardId(), version);
    for (const Named& named : (*entry)->header.contributions) {
      for (const Member& member : named.members) times += member.id == id ? 1 : 0;
    }
  }
  return times;
}

TEST(Region, AnAggregateIsJournaledAfterTheLongestDelayAndSurvivesACrash) {
  Bench bench;
  bench.begin(filled(0));
  bench.join(0, 1);
  bench.join(0, 2);  // round 2 waits for this one, round 1 was announced before it came
  bench.take_replies();
  bench.push(0, numbered(1, 2), filled(4));
  EXPECT_TRUE(push_replies(bench).empty()) << "not durable yet";
  bench.pass(bench.settings().ack_max_delay / 2);
  EXPECT_TRUE(push_replies(bench).empty());
  bench.pass(bench.settings().ack_max_delay / 2);
  const auto replies = push_replies(bench);
  ASSERT_EQ(replies.size(), 1U);
  EXPECT_EQ(replies[0].outcome, PushOutcome::kAcknowledged);
  EXPECT_EQ(bench.store(0).unsynced_batches(), 0U) << "what is acknowledged is durable";

  bench.close(0);
  Random random(1);
  bench.store(0).crash(random);
  ASSERT_TRUE(bench.open(0));
  bench.pass(milliseconds(1));
  bench.pass(seconds(1));  // nobody is active: the round closes
  const ShardState& state = bench.shard(0).state();
  EXPECT_EQ(state.version(), Version(2));
  EXPECT_EQ(times_named(bench.store(0), replies[0].id, state.version()), 1U);
  EXPECT_EQ(state.values()[3], 3 - 7.0F) << "its sum came back too";
  bench.take_replies();
  bench.push(0, numbered(1, 2), filled(4));  // the worker repeats it: its acknowledgement was lost
  const auto again = push_replies(bench);
  ASSERT_EQ(again.size(), 1U);
  EXPECT_EQ(again[0].outcome, PushOutcome::kAcknowledged);
  EXPECT_EQ(bench.shard(0).state().version(), Version(2));
}

TEST(Region, WhatWasNeitherClosedNorJournaledMayBeLostButIsNotAcknowledged) {
  Bench bench;
  bench.begin(filled(0));
  bench.join(0, 1);
  bench.join(0, 2);
  bench.take_replies();
  bench.push(0, numbered(1, 2), filled(4));
  EXPECT_TRUE(push_replies(bench).empty());
  bench.close(0);
  ASSERT_TRUE(bench.open(0));
  bench.join(0, 1);
  bench.push(0, numbered(1, 2), filled(4));  // the worker repeats what nobody acknowledged
  ASSERT_EQ(push_replies(bench).size(), 1U);
  EXPECT_EQ(bench.shard(0).state().version(), Version(2));
}

TEST(Region, APushOfAnOlderProcessIsRefused) {
  Bench bench;
  bench.begin(filled(0));
  bench.join(0, 1);
  PushParts parts = numbered(1, 1);
  parts.incarnation = 5;
  bench.push(0, parts, filled(1));
  bench.take_replies();
  parts.incarnation = 4;
  bench.push(0, parts, filled(1));
  const auto replies = push_replies(bench);
  ASSERT_EQ(replies.size(), 1U);
  EXPECT_EQ(replies[0].outcome, PushOutcome::kRefused);
  EXPECT_EQ(replies[0].reason, Errc::kConflict);
  EXPECT_EQ(replies[0].newest, Incarnation(5)) << "so that a process whose clock was set back can go on";
}

TEST(Region, AGapInAWorkersSequenceIsRefusedByNumber) {
  Bench bench;
  bench.begin(filled(0));
  bench.join(0, 1);
  bench.take_replies();
  bench.push(0, numbered(3, 1), filled(1));
  const auto replies = push_replies(bench);
  ASSERT_EQ(replies.size(), 1U);
  EXPECT_EQ(replies[0].reason, Errc::kGap);
  EXPECT_NE(replies[0].detail.find("expected push 1"), std::string::npos);
}

TEST(Region, PushesMergeWhileAContributionIsUnnamed) {
  Bench bench(test::small_settings(), 2);
  bench.begin(filled(0));
  bench.join(1, 1);
  bench.cut(0, 1);
  for (std::uint64_t i = 1; i <= 3; ++i) bench.push(1, numbered(1, 1, i), filled(1));  // three workers, one round
  EXPECT_EQ(bench.shard(1).status().outbox_items, 1U) << "the first closed at once, the others wait together";
  bench.pass(seconds(1));
  EXPECT_EQ(bench.shard(1).status().outbox_items, 1U);
  bench.heal(0, 1);
  bench.pass(seconds(1));
  bench.pass(seconds(1));
  const ShardState& state = bench.shard(0).state();
  EXPECT_EQ(state.version(), Version(3));
  EXPECT_EQ(state.head().contributions.at(0).members.size(), 2U);
  EXPECT_EQ(bench.shard(1).status().outbox_items, 0U) << "the watermark covers both";
}

TEST(Region, AFullOutboxIsAnAnswer) {
  RunSettings settings = test::small_settings();
  settings.outbox_items_max = 1;
  Bench bench(settings, 3);
  bench.begin(filled(0));
  bench.join(1, 1);
  bench.cut(0, 2);  // a region is away: named, but the watermark stands still
  bench.push(1, numbered(1, 1), filled(1));
  EXPECT_EQ(bench.shard(0).state().version(), Version(2));
  bench.take_replies();
  bench.push(1, numbered(2, 2), filled(1));
  auto replies = push_replies(bench);
  ASSERT_EQ(replies.size(), 1U);
  EXPECT_EQ(replies[0].outcome, PushOutcome::kOverloaded);
  EXPECT_GT(replies[0].retry_after_ms, 0U);
  bench.heal(0, 2);
  bench.take_replies();
  bench.push(1, numbered(2, 2), filled(1));
  replies = push_replies(bench);
  ASSERT_EQ(replies.size(), 1U);
  EXPECT_EQ(replies[0].outcome, PushOutcome::kAcknowledged);
}

TEST(Region, TooManyOpenRoundsIsAnAnswer) {
  RunSettings settings = test::small_settings();
  settings.open_aggregates_max = 2;
  Bench bench(settings, 2);
  bench.begin(filled(0));
  bench.cut(0, 1);
  for (std::uint64_t i = 1; i <= 3; ++i) bench.push(1, numbered(1, i, i), filled(1));
  bench.take_replies();
  bench.push(1, numbered(1, 4, 4), filled(1));
  const auto replies = push_replies(bench);
  ASSERT_EQ(replies.size(), 1U);
  EXPECT_EQ(replies[0].outcome, PushOutcome::kOverloaded);
}

TEST(Region, ClassesOfAcknowledgement) {
  for (const auto& [ack, when_away, when_back] :
       {std::tuple(AckClass::kMemory, 1U, 0U), std::tuple(AckClass::kRegion, 1U, 0U),
        std::tuple(AckClass::kCommitted, 1U, 0U), std::tuple(AckClass::kReplicated, 0U, 1U)}) {
    RunSettings settings = test::small_settings();
    settings.ack = ack;
    Bench bench(settings, 2);
    bench.begin(filled(0));
    bench.join(0, 1);
    bench.cut(0, 1);
    bench.take_replies();
    bench.push(0, numbered(1, 1), filled(1));
    EXPECT_EQ(push_replies(bench).size(), when_away) << static_cast<int>(ack);
    bench.heal(0, 1);
    EXPECT_EQ(push_replies(bench).size(), when_back) << static_cast<int>(ack);
  }
}

TEST(Region, ARegionThatIsOnlyTickedStaysLive) {
  Bench bench(test::small_settings(), 2);
  bench.begin(filled(0));
  bench.join(1, 1);
  for (int i = 0; i < 20; ++i) bench.pass(kPresenceInterval);
  bench.join(0, 2);
  bench.push(0, numbered(1, 1000, 2), filled(1));
  EXPECT_EQ(bench.shard(0).state().version(), Version(1)) << "the round waits for region 1";
  EXPECT_NE(bench.shard(0).status().waiting_for.find("1"), std::string::npos);
}

}  // namespace
}  // namespace godwit
