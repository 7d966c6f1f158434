// Recovery and snapshots: the same bytes come back, and damage is found before anything is served.
#include "server/core/recovery.h"

#include <gtest/gtest.h>

#include "tests/unit/core/bench.h"

namespace godwit {
namespace {

using test::Bench;
using test::filled;

class RecoveryTest : public ::testing::Test {
 protected:
  static RunSettings settings() {
    RunSettings settings = test::small_settings();
    settings.update_codec = settings.contribution_codec = {CodecId::kInt8, true};
    settings.nesterov_steps_min = 1;  // momentum: state that only the inputs can rebuild
    settings.snapshot_versions = 4;
    settings.log_retained_versions = 3;
    return settings;
  }
  void SetUp() override {
    bench_.begin(filled(1));
    bench_.join(0, 1);
  }
  void rounds(std::uint64_t count) {
    for (std::uint64_t i = 0; i < count; ++i) {
      test::PushParts parts;
      parts.sequence = parts.round = ++made_;
      bench_.push(0, parts, filled(0.37F * static_cast<float>(made_ % 7)));
    }
  }
  Result<Recovered> recover(bool leader = true) {
    return recover_shard(bench_.store(0), ShardId(), Layout(test::small_manifest()).shards[0],
                         leader ? std::optional(RegionId(0)) : std::nullopt);
  }
  void expect_same(const ShardState& recovered) {
    const ShardState& state = bench_.shard(0).state();
    EXPECT_EQ(recovered.version(), state.version());
    EXPECT_EQ(recovered.head_hash(), state.head_hash());
    EXPECT_EQ(recovered.producers(), state.producers());
    for (std::uint32_t block = 0; block < state.block_count(); ++block) {
      EXPECT_TRUE(std::ranges::equal(recovered.values(block), state.values(block)));
      EXPECT_TRUE(std::ranges::equal(recovered.velocity(block), state.velocity(block)));
    }
  }
  std::size_t count(Family family) {
    std::size_t keys = 0;
    const auto scanned = bench_.store(0).scan(family, {}, Bytes(1, std::byte{0xFF}), [&](ByteView, ByteView) {
      ++keys;
      return true;
    });
    EXPECT_TRUE(scanned);
    return keys;
  }
  void flip(Family family, const Bytes& key, std::size_t from_end) {
    auto bytes = bench_.store(0).get(family, key);
    ASSERT_TRUE(bytes && *bytes);
    (**bytes)[(*bytes)->size() - from_end] ^= std::byte{1};
    Batch batch;
    batch.put(family, key, **bytes);
    ASSERT_TRUE(bench_.store(0).write(batch));
  }

  void replace(Family family, const Bytes& key, Bytes value) {
    Batch batch;
    batch.put(family, key, std::move(value));
    ASSERT_TRUE(bench_.store(0).write(batch));
  }
  EntryHeader header_at(Version version) {
    return *EntryHeader::decode(**bench_.store(0).get(Family::kLog, records::commit_key(ShardId(), version)));
  }
  void expect_corrupt(bool leader) {
    const auto recovered = recover(leader);
    ASSERT_FALSE(recovered);
    EXPECT_EQ(recovered.error().code, Errc::kCorrupt);
  }

  Bench bench_{settings()};
  std::uint64_t made_ = 0;
};

TEST_F(RecoveryTest, TheLogAloneGivesTheState) {
  rounds(2);  // before the first snapshot
  const auto recovered = recover();
  ASSERT_TRUE(recovered) << recovered.error().to_string();
  EXPECT_EQ(recovered->replayed, 3U);
  expect_same(recovered->state);
}

TEST_F(RecoveryTest, AFuzzySnapshotAndItsTailGiveTheState) {
  for (int i = 0; i < 40; ++i) {
    rounds(1);
    const auto recovered = recover();
    ASSERT_TRUE(recovered) << recovered.error().to_string();
    expect_same(recovered->state);
  }
  EXPECT_GT(bench_.notices(Notice::Kind::kSnapshotDone), 3U);
  EXPECT_LT(recover()->replayed, 20U) << "the snapshots are used";
}

TEST_F(RecoveryTest, AChangedInputIsFound) {
  rounds(2);
  const Bytes key = records::input_key(ShardId(), Version(2), 0);
  flip(Family::kInputs, key, 1);
  const auto recovered = recover();
  ASSERT_FALSE(recovered);
  EXPECT_EQ(recovered.error().code, Errc::kCorrupt);
}

TEST_F(RecoveryTest, AnotherInputThanTheOneCommittedIsFound) {
  rounds(2);
  Batch batch;  // whole and well-formed, but of another version
  batch.put(Family::kInputs, records::input_key(ShardId(), Version(2), 0),
            **bench_.store(0).get(Family::kInputs, records::input_key(ShardId(), Version(3), 0)));
  ASSERT_TRUE(bench_.store(0).write(batch));
  const auto recovered = recover();
  ASSERT_FALSE(recovered);
  EXPECT_NE(recovered.error().context.find("version 2"), std::string::npos) << recovered.error().context;
}

TEST_F(RecoveryTest, AChangedSnapshotBlockIsFound) {
  rounds(20);
  const records::SnapshotHead head = Retention::load(bench_.store(0), ShardId())->newest();
  const Bytes key = records::snapshot_key(ShardId(), head.id, 1);
  records::SnapshotBlock block = *records::decode_snapshot_block(**bench_.store(0).get(Family::kSnapshot, key));
  ASSERT_LT(block.version, bench_.shard(0).state().version()) << "there is a version to compare with";
  block.values[2] += 1;
  Batch batch;
  batch.put(Family::kSnapshot, key, records::encode_snapshot_block(block.version, block.values, block.velocity));
  ASSERT_TRUE(bench_.store(0).write(batch));
  for (const bool leader : {true, false}) {
    const auto recovered = recover(leader);
    ASSERT_FALSE(recovered);
    EXPECT_EQ(recovered.error().code, Errc::kInternal);
  }
}

TEST_F(RecoveryTest, AMissingInputIsFound) {
  rounds(2);
  Batch batch;
  batch.erase(Family::kInputs, records::input_key(ShardId(), Version(2), 0));
  ASSERT_TRUE(bench_.store(0).write(batch));
  EXPECT_EQ(recover().error().code, Errc::kCorrupt);
}

TEST_F(RecoveryTest, AnInputOfOtherBlocksIsFound) {
  rounds(1);
  const Bytes key = records::input_key(ShardId(), Version(2), 0);
  Contribution input = *records::decode_contribution(**bench_.store(0).get(Family::kInputs, key));
  input.header.blocks.pop_back();
  input.payloads.pop_back();
  replace(Family::kInputs, key, records::encode_contribution(input));
  expect_corrupt(true);
}

TEST_F(RecoveryTest, AnEntryOfMoreBlocksThanTheManifestIsFound) {
  rounds(1);
  EntryHeader header = header_at(Version(2));
  header.blocks.push_back(header.blocks.back());
  const auto last = **bench_.store(0).get(Family::kLog, records::payload_key(ShardId(), Version(2), 2));
  replace(Family::kLog, records::payload_key(ShardId(), Version(2), 3), last);
  replace(Family::kLog, records::commit_key(ShardId(), Version(2)), header.encode());
  for (const bool leader : {true, false}) expect_corrupt(leader);
}

TEST_F(RecoveryTest, AnUpdateWithoutACodecIsFound) {
  rounds(1);
  EntryHeader header = header_at(Version(2));
  header.blocks[1].codec = {CodecId::kNone, false};
  replace(Family::kLog, records::commit_key(ShardId(), Version(2)), header.encode());
  for (const bool leader : {true, false}) expect_corrupt(leader);
}

TEST_F(RecoveryTest, AStepOutOfRangeIsFound) {
  rounds(1);
  EntryHeader header = header_at(Version(2));
  header.inverse_weight = std::numeric_limits<float>::max();
  replace(Family::kLog, records::commit_key(ShardId(), Version(2)), header.encode());
  expect_corrupt(true);
}

TEST_F(RecoveryTest, InputsOfACommitThatNeverHappenedAreIgnored) {
  rounds(2);
  Batch batch;
  batch.put(Family::kInputs, records::input_key(ShardId(), Version(2), 1),
            **bench_.store(0).get(Family::kInputs, records::input_key(ShardId(), Version(3), 0)));
  ASSERT_TRUE(bench_.store(0).write(batch));
  const auto recovered = recover();
  ASSERT_TRUE(recovered) << recovered.error().to_string();
  expect_same(recovered->state);
}

TEST_F(RecoveryTest, AChangedUpdateIsFoundByLeadersAndFollowers) {
  rounds(2);
  flip(Family::kLog, records::payload_key(ShardId(), Version(2), 1), 1);
  for (const bool leader : {true, false}) {
    const auto recovered = recover(leader);
    ASSERT_FALSE(recovered);
    EXPECT_EQ(recovered.error().code, Errc::kCorrupt);
    EXPECT_NE(recovered.error().context.find("version 2 block 1"), std::string::npos) << recovered.error().context;
  }
}

TEST_F(RecoveryTest, AChangedCommitRecordIsFound) {
  rounds(3);
  flip(Family::kLog, records::commit_key(ShardId(), Version(2)), 1);
  EXPECT_FALSE(recover());
}

TEST_F(RecoveryTest, ACommitRecordThatWasReplacedBreaksTheChain) {
  rounds(3);
  const Bytes key = records::commit_key(ShardId(), Version(2));
  EntryHeader header = *EntryHeader::decode(**bench_.store(0).get(Family::kLog, key));
  header.total_tokens += 1;  // nothing but the chain knows it
  Batch batch;
  batch.put(Family::kLog, key, header.encode());
  ASSERT_TRUE(bench_.store(0).write(batch));
  EXPECT_EQ(recover().error().code, Errc::kCorrupt);
}

TEST_F(RecoveryTest, PayloadsWithoutACommitRecordAreIgnored) {
  rounds(2);
  Batch batch;
  batch.put(Family::kLog, records::payload_key(ShardId(), Version(4), 0), Bytes(5));
  ASSERT_TRUE(bench_.store(0).write(batch));
  const auto recovered = recover();
  ASSERT_TRUE(recovered);
  expect_same(recovered->state);
}

TEST_F(RecoveryTest, RetentionIsBoundedInVersions) {
  rounds(40);
  const std::size_t log = count(Family::kLog), inputs = count(Family::kInputs), snapshot = count(Family::kSnapshot);
  rounds(80);
  EXPECT_LE(count(Family::kLog), log + 4 * 8) << "payloads and a commit record for each of a few versions";
  EXPECT_LE(count(Family::kInputs), inputs + 8);
  EXPECT_LE(count(Family::kSnapshot), snapshot + 3);
  EXPECT_EQ(count(Family::kPushes), 121U) << "kept for the whole run";
  EXPECT_EQ(count(Family::kOutbox), 0U);
}

TEST_F(RecoveryTest, ASnapshotWaitsForTheWatermark) {
  Bench pair(settings(), 2);
  pair.begin(filled(1));
  pair.join(0, 1);
  pair.cut(0, 1);
  for (std::uint64_t i = 1; i <= 20; ++i) {
    test::PushParts parts;
    parts.sequence = parts.round = i;
    pair.push(0, parts, filled(1));
  }
  EXPECT_EQ(pair.shard(0).state().version(), Version(21));
  EXPECT_EQ(pair.notices(Notice::Kind::kSnapshotDone), 0U);
  pair.heal(0, 1);
  for (int i = 0; i < 5; ++i) pair.pass(milliseconds(10));
  EXPECT_GT(pair.notices(Notice::Kind::kSnapshotDone), 0U);
  EXPECT_EQ(pair.shard(1).state().head_hash(), pair.shard(0).state().head_hash());
}

TEST_F(RecoveryTest, AnEpochThatWasSeenBeforeIsRefused) {
  rounds(1);
  const ShardRecord older{RegionId(0), Epoch(1), Epoch(1), {{RegionId(0), Incarnation(7)}}};
  RegionCore::Place place{RegionId(0), Incarnation(7), Incarnation(7), {{older, Revision(9)}}, {true}};
  const auto opened = RegionCore::open(bench_.settings(), bench_.store(0), test::small_manifest(), place, bench_.now());
  ASSERT_FALSE(opened);
  EXPECT_EQ(opened.error().code, Errc::kWrongEpoch);
}

}  // namespace
}  // namespace godwit
