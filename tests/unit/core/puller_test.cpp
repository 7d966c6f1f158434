#include <gtest/gtest.h>

#include "tests/unit/core/bench.h"

namespace godwit {
namespace {

using test::Bench;
using test::filled;

class PullerTest : public ::testing::Test {
 protected:
  void SetUp() override {
    bench_.begin(filled(1));
    bench_.join(0, 1);
    rounds(3);
  }
  static RunSettings settings() {
    RunSettings settings = test::small_settings();
    settings.log_retained_versions = 4;
    settings.snapshot_versions = 4;
    settings.contribution_codec = settings.update_codec = {CodecId::kInt8, false};
    return settings;
  }
  void rounds(std::uint64_t count) {
    for (std::uint64_t i = 0; i < count; ++i) {
      test::PushParts parts;
      parts.sequence = parts.round = ++made_;
      bench_.push(0, parts, filled(1));
    }
  }
  std::optional<PullReply> next_reply() {
    for (const Message& message : bench_.take_replies()) {
      if (const auto* reply = std::get_if<PullReply>(&message)) return *reply;
    }
    return std::nullopt;
  }
  std::optional<PullReply> pull(Version have, Hash hash, std::uint32_t wait_ms = 0,
                                std::optional<PushId> pending = {}) {
    bench_.take_replies();
    bench_.from_worker(0, Pull{ShardId(), have, hash, pending, wait_ms}, 8);
    return next_reply();
  }
  Hash hash_at(std::uint64_t version) {
    return version == 0
               ? Hash()
               : (*records::read_entry(bench_.store(0), ShardId(), Version(version)))->hash;
  }

  Bench bench_{settings()};
  std::uint64_t made_ = 0;
};

TEST_F(PullerTest, EntriesAreThoseOfTheLog) {
  const auto reply = pull(Version(3), hash_at(3));  // two small entries would be more bytes than the model
  ASSERT_TRUE(reply);
  ASSERT_EQ(reply->outcome, PullOutcome::kEntries);
  ASSERT_FALSE(reply->entries.empty());
  Version expected(4);
  for (const Entry& entry : reply->entries) {
    const auto stored = records::read_entry(bench_.store(0), ShardId(), expected);
    EXPECT_EQ(*entry.encoded, *(*stored)->encoded);
    EXPECT_EQ(*entry.payloads[0], *(*stored)->payloads[0]);
    expected = expected.next();
  }
}

TEST_F(PullerTest, NotModifiedAtOnceOrAtTheDeadline) {
  const ShardState& state = bench_.shard(0).state();
  EXPECT_EQ(pull(state.version(), state.head_hash())->outcome, PullOutcome::kNotModified);
  EXPECT_FALSE(pull(state.version(), state.head_hash(), 400)) << "it waits";
  bench_.pass(milliseconds(399));
  EXPECT_FALSE(next_reply());
  bench_.pass(milliseconds(1));
  const auto reply = next_reply();
  ASSERT_TRUE(reply);
  EXPECT_EQ(reply->outcome, PullOutcome::kNotModified);
}

TEST_F(PullerTest, AWaitingPullIsAnsweredByTheNextVersion) {
  const ShardState& state = bench_.shard(0).state();
  EXPECT_FALSE(pull(state.version(), state.head_hash(), 400));
  const Version next = state.version().next();
  rounds(1);
  const auto reply = next_reply();
  ASSERT_TRUE(reply);
  ASSERT_EQ(reply->outcome, PullOutcome::kEntries);
  EXPECT_EQ(reply->entries.front().header.version, next);
}

TEST_F(PullerTest, AForkGetsASnapshot) {
  const auto reply = pull(Version(2), Hash(123));
  ASSERT_TRUE(reply);
  ASSERT_EQ(reply->outcome, PullOutcome::kSnapshot);
  EXPECT_EQ(*reply->snapshot->entry, *bench_.shard(0).state().head_encoded());
  EXPECT_EQ(pull(Version(99), Hash(5))->outcome, PullOutcome::kSnapshot)
      << "a version that this log does not have";
}

TEST_F(PullerTest, WhoIsFarBehindGetsASnapshot) {
  const Hash old = hash_at(1);
  rounds(40);
  EXPECT_EQ(pull(Version(1), old)->outcome, PullOutcome::kSnapshot);
  EXPECT_EQ(pull(Version(), Hash())->outcome, PullOutcome::kSnapshot) << "a first join";
}

TEST_F(PullerTest, ASnapshotSaysWhereThePendingPushWasNamed) {
  const PushId first{WorkerId(1), Incarnation(1), SequenceNo(1)};
  const auto reply = pull(Version(), Hash(), 0, first);
  ASSERT_TRUE(reply && reply->named);
  EXPECT_EQ(reply->named->id, first);
  EXPECT_EQ(reply->named->version, Version(2));
  const auto other =
      pull(Version(), Hash(), 0, PushId{WorkerId(1), Incarnation(1), SequenceNo(77)});
  ASSERT_TRUE(other);
  EXPECT_FALSE(other->named) << "a push that nobody has seen stays pending";
}

TEST(PullerOfAFreshRun, APushMadeWhileThePullWaitsIsNamedByTheSnapshot) {
  Bench bench;
  bench.from_worker(0, Pull{ShardId(), Version(), Hash(), std::nullopt, 500}, 99);
  bench.set_mode(Mode::kSync, 1);  // a second entry at once, so that a snapshot is fewer bytes
  bench.begin(filled(1));          // worker 99 offers the model; its pull was sent before
  std::optional<PullReply> reply;
  for (const Message& message : bench.take_replies()) {
    if (const auto* found = std::get_if<PullReply>(&message)) reply = *found;
  }
  ASSERT_TRUE(reply && reply->snapshot);
  ASSERT_TRUE(reply->named);
  EXPECT_EQ(reply->named->version, Version(1));
}

TEST(PullerWithLimits, AboveTheLimitThereIsNoWaiting) {
  RunSettings settings = test::small_settings();
  settings.waiting_pulls_max = 1;
  Bench bench(settings);
  bench.begin(filled(1));
  const ShardState& state = bench.shard(0).state();
  const Pull pull{ShardId(), state.version(), state.head_hash(), {}, 500};
  bench.take_replies();
  bench.from_worker(0, pull, 1);
  EXPECT_TRUE(bench.take_replies().empty());
  bench.from_worker(0, pull, 2);
  EXPECT_EQ(bench.take_replies().size(), 1U);
}

}  // namespace
}  // namespace godwit
