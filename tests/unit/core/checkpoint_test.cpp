// Checkpoints: what is kept for them, and that a restore is a forward entry which every replica
// replays.
#include "server/core/checkpoint.h"

#include <gtest/gtest.h>

#include "server/core/recovery.h"
#include "tests/unit/core/bench.h"

namespace godwit {
namespace {

using test::Bench;
using test::filled;

TEST(CheckpointList, AutomaticOnesMakeRoomForNewerOnes) {
  CheckpointList list;
  Checkpoint automatic;
  automatic.automatic = true;
  for (int i = 0; i < 3; ++i) list.add(automatic, 2);
  EXPECT_EQ(list.items.size(), 2U);
  EXPECT_EQ(list.find(1), nullptr);
  list.items.front().pinned = true;
  list.add({}, 2);  // an operator's
  for (int i = 0; i < 4; ++i) list.add(automatic, 2);
  std::vector<std::uint64_t> ids;
  for (const Checkpoint& item : list.items) ids.push_back(item.id);
  EXPECT_EQ(ids, (std::vector<std::uint64_t>{2, 4, 7, 8})) << "ids are never used again";
  EXPECT_EQ(*CheckpointList::decode(list.encode()), list);
}

TEST(CheckpointSchedule, WhateverComesFirst) {
  const CheckpointSchedule schedule{100, seconds(60), 3};
  EXPECT_FALSE(schedule.due(Version(99), Version(), seconds(59)));
  EXPECT_EQ(*schedule.due(Version(100), Version(), seconds(1)), "every 100 versions");
  EXPECT_EQ(*schedule.due(Version(1), Version(), seconds(60)), "every 60 s");
  EXPECT_FALSE(schedule.due(Version(500), Version(500), seconds(1000))) << "nothing is new";
  EXPECT_FALSE(
      (CheckpointSchedule{0, Duration::zero(), 3}).due(Version(5000), Version(), seconds(9999)));
}

TEST(Retention, AVersionIsRebuiltFromASnapshotNoBlockOfWhichIsNewer) {
  Retention retention;
  Batch batch;
  retention.add({1, Version(5), Version(8)}, test::small_settings(), batch);  // its blocks were written meanwhile
  EXPECT_EQ(retention.base(Version(4)).id, 0U) << "the empty model";
  EXPECT_EQ(retention.base(Version(7)).id, 0U);
  EXPECT_EQ(retention.base(Version(8)).id, 1U);
}

class CheckpointTest : public ::testing::Test {
 protected:
  void SetUp() override {
    bench_.begin(filled(1));
    for (std::uint32_t region = 0; region < 2; ++region) bench_.join(region, region + 1);
  }
  void push(std::uint32_t region, float first, std::uint64_t restore_epoch = 0) {
    test::PushParts parts;
    parts.worker = region + 1;
    parts.sequence = ++made_[region];
    parts.round = round_;
    parts.restore_epoch = restore_epoch;
    bench_.push(region, parts, filled(first));
  }
  void round(float first = 0.1F, std::uint64_t restore_epoch = 0) {
    ++round_;
    for (std::uint32_t region = 0; region < 2; ++region) push(region, first, restore_epoch);
  }
  const ShardState& state(std::uint32_t region) { return bench_.shard(region).state(); }
  std::vector<float> values(std::uint32_t region) {
    return {state(region).values().begin(), state(region).values().end()};
  }
  Checkpoint checkpoint() {
    Checkpoint checkpoint;
    checkpoint.shards = {*bench_.shard(0).settled()};
    CheckpointList list;
    list.add(checkpoint, 1);
    bench_.set_item(control_keys::kRunCheckpoints, list.encode());
    return checkpoint;
  }
  void restore(const Checkpoint& checkpoint, std::uint64_t epoch = 1) {
    bench_.set_item(control_keys::kRunRestore,
                    RestoreSetting{RestoreEpoch(epoch), 1, checkpoint.shards}.encode());
  }
  Result<ShardState> rebuilt(std::uint32_t region, Version version) {
    return rebuild(bench_.store(region), ShardId(), state(region).layout(), version);
  }
  // Where and how the worker's push was named.
  std::optional<std::pair<Version, Verdict>> named(std::uint32_t region, std::uint64_t sequence) {
    const PushId id{WorkerId(region + 1), Incarnation(1), SequenceNo(sequence)};
    const auto record = bench_.store(0).get(Family::kPushes, records::push_key(ShardId(), id));
    return *record ? std::optional(*records::decode_push_record(**record)) : std::nullopt;
  }
  static RunSettings settings() {
    RunSettings settings = test::small_settings();
    settings.snapshot_versions = 3;
    settings.log_retained_versions = 4;
    settings.nesterov_steps_min = 2;
    return settings;
  }

  Bench bench_{settings(), 2};
  std::uint64_t round_ = 0;
  std::uint64_t made_[2] = {0, 0};
};

TEST_F(CheckpointTest, EveryRetainedVersionIsRebuiltBitForBit) {
  std::map<Version, std::vector<float>> past;
  for (int i = 0; i < 30; ++i) {
    round();
    past[state(0).version()] = values(0);
  }
  const std::uint64_t head = state(0).version().value();
  for (std::uint64_t version = head - 4; version <= head; ++version) {
    for (const std::uint32_t region : {0U, 1U}) {
      const Result<ShardState> state = rebuilt(region, Version(version));
      ASSERT_TRUE(state) << state.error().to_string();
      EXPECT_TRUE(std::equal(state->values().begin(), state->values().end(),
                             past[Version(version)].begin()));
    }
  }
  EXPECT_EQ(rebuilt(0, Version(3)).error().code, Errc::kNotFound);
}

TEST_F(CheckpointTest, APinnedVersionStaysWhateverElseGoes) {
  for (int i = 0; i < 8; ++i) round();
  const Checkpoint kept = checkpoint();
  const std::vector<float> then = values(0);
  for (int i = 0; i < 40; ++i) round();
  for (const std::uint32_t region : {0U, 1U}) {
    const Result<Retention> retention = Retention::load(bench_.store(region), ShardId());
    EXPECT_TRUE(retention->keeps(kept.shards[0], bench_.store(region)));
    const Result<ShardState> state = rebuilt(region, kept.shards[0].version);
    ASSERT_TRUE(state) << state.error().to_string();
    EXPECT_TRUE(std::equal(then.begin(), then.end(), state->values().begin()));
  }
  bench_.set_item(control_keys::kRunCheckpoints, CheckpointList().encode());
  EXPECT_EQ(rebuilt(0, kept.shards[0].version).error().code, Errc::kNotFound) << "released";
  EXPECT_FALSE(Retention::load(bench_.store(0), ShardId())->keeps(kept.shards[0], bench_.store(0)));
}

TEST_F(CheckpointTest, ARestoreIsAnEntryThatEveryReplicaReplays) {
  for (int i = 0; i < 5; ++i) round();
  const Checkpoint good = checkpoint();
  const std::vector<float> then = values(0);
  const std::uint64_t tokens = state(0).head().total_tokens;
  for (int i = 0; i < 5; ++i) round(1e6F);
  const Version diverged = state(0).version();
  restore(good);
  for (const std::uint32_t region : {0U, 1U}) {
    EXPECT_EQ(state(region).version(), diverged.next());
    EXPECT_EQ(state(region).head().kind, EntryKind::kRestore);
    EXPECT_EQ(values(region), then);
    EXPECT_EQ(state(region).head().total_tokens, tokens) << "schedules go back with it";
  }
  for (const float velocity : state(0).velocity(0))
    EXPECT_EQ(velocity, 0) << "moments of the model that is gone";
  restore(good);
  EXPECT_EQ(state(0).version(), diverged.next()) << "the same wish again";
  round(0.1F, 1);
  ASSERT_TRUE(bench_.open(1));
  ASSERT_TRUE(bench_.open(0)) << "a leader's own entries are replayed byte for byte, this one too";
  EXPECT_EQ(values(0), values(1));
  EXPECT_EQ(state(0).head_hash(), state(1).head_hash());
}

TEST_F(CheckpointTest, WhatWasTrainedOnTheModelThatIsGoneIsNamedAsDiscarded) {
  for (int i = 0; i < 5; ++i) round();
  const Checkpoint good = checkpoint();
  ++round_;
  push(1, 1e6F);  // region 0 has not pushed yet: the leader holds it for the round
  restore(good);
  EXPECT_EQ(named(1, made_[1])->second, Verdict::kDiscarded);
  const std::vector<float> then = values(0);
  push(0, 1e6F);  // it has not heard of the restore
  bench_.pass(seconds(1));
  EXPECT_EQ(named(0, made_[0])->second, Verdict::kDiscarded);
  EXPECT_EQ(values(0), then);
  round(0.1F, 1);
  EXPECT_EQ(named(0, made_[0])->second, Verdict::kApplied);
  EXPECT_NE(values(0), then);
}

TEST_F(CheckpointTest, AnAggregateThatIsOpenAtARestoreGoesOnWithWhatComesAfterIt) {
  for (int i = 0; i < 5; ++i) round();
  bench_.join(1, 7);  // a second worker there: the aggregate waits for it
  const Checkpoint good = checkpoint();
  ++round_;
  push(1, 1e6F);
  const std::uint64_t before = made_[1];
  restore(good);
  const std::vector<float> then = values(0);
  test::PushParts parts;
  parts.worker = 7;
  parts.round = round_;
  parts.restore_epoch = 1;
  bench_.push(1, parts, filled(0));
  push(0, 0, 1);
  bench_.pass(seconds(1));
  EXPECT_EQ(named(1, before)->second, Verdict::kDiscarded);
  const auto other = bench_.store(0).get(
      Family::kPushes, records::push_key(ShardId(), {WorkerId(7), Incarnation(1), SequenceNo(1)}));
  ASSERT_TRUE(*other);
  EXPECT_EQ(records::decode_push_record(**other)->second, Verdict::kApplied);
  const float step = 0.7F * 1.9F;  // Nesterov's first one, from zero moments
  for (std::size_t i = 0; i < then.size(); ++i)
    EXPECT_NEAR(values(0)[i], then[i] - step * static_cast<float>(i), 1e-2);
}

TEST_F(CheckpointTest, ALeaderThatDoesNotKeepItSaysSoAndTrainsOn) {
  for (int i = 0; i < 5; ++i) round();
  const Checkpoint gone{1, 0, "", false, false, {{Version(2), Hash(99)}}};
  restore(gone);
  const Version before = state(0).version();
  EXPECT_NE(bench_.shard(0).status().waiting_for.find("cannot be restored"), std::string::npos)
      << bench_.shard(0).status().waiting_for;
  round();
  EXPECT_EQ(state(0).version(), before.next());
  restore({2, 0, "", false, false, {*bench_.shard(0).settled()}}, 2);
  EXPECT_EQ(state(0).head().kind, EntryKind::kRestore) << "a later wish replaces it";
  EXPECT_EQ(bench_.shard(0).status().waiting_for.find("cannot"), std::string::npos);
}

}  // namespace
}  // namespace godwit
