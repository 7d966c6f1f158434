// What a follower takes from whom, and what it asks for.
#include <gtest/gtest.h>

#include "tests/unit/core/bench.h"

namespace godwit {
namespace {

using test::Bench;
using test::filled;

class FollowerTest : public ::testing::Test {
 protected:
  void SetUp() override {
    bench_.begin(filled(1));
    bench_.join(0, 1);
  }
  void rounds(std::uint64_t count) {
    for (std::uint64_t i = 0; i < count; ++i) {
      test::PushParts parts;
      parts.sequence = parts.round = ++made_;
      bench_.push(0, parts, filled(1));
    }
  }
  Entry stored(std::uint64_t version) {
    return **records::read_entry(bench_.store(0), ShardId(), Version(version));
  }
  // The entry that a leader of this epoch might append to what the follower holds.
  Entry next_of(Epoch epoch) {
    EntryHeader header = bench_.shard(1).state().head();
    header.version = header.version.next();
    header.previous = bench_.shard(1).state().head_hash();
    header.epoch = epoch;
    header.kind = EntryKind::kMode;
    header.contributions.clear();
    header.blocks.clear();
    return records::make_entry(std::move(header), {});
  }
  std::vector<std::pair<Bytes, Bytes>> records_of(std::uint32_t region, Family family) {
    std::vector<std::pair<Bytes, Bytes>> found;
    const auto scanned =
        bench_.store(region).scan(family, {}, Bytes(1, std::byte{0xFF}), [&](ByteView key, ByteView value) {
          found.emplace_back(copy(key), copy(value));
          return true;
        });
    EXPECT_TRUE(scanned);
    return found;
  }
  void wipe(std::uint32_t region) {
    Batch batch;
    for (const Family family : {Family::kLog, Family::kOutbox, Family::kPushes, Family::kSnapshot, Family::kMeta})
      batch.erase_range(family, {}, Bytes(1, std::byte{0xFF}));
    ASSERT_TRUE(bench_.store(region).write(batch));
  }
  Version version() { return bench_.shard(1).state().version(); }
  static RunSettings settings() {
    RunSettings settings = test::small_settings();
    settings.snapshot_versions = settings.log_retained_versions = 2;
    settings.entry_cache_bytes = 0;
    return settings;
  }

  Bench bench_{settings(), 2};
  std::uint64_t made_ = 0;
};

TEST_F(FollowerTest, KeepsWhatTheLeaderKeeps) {
  rounds(3);
  EXPECT_EQ(version(), Version(4));
  for (const Family family : {Family::kLog, Family::kPushes}) {
    EXPECT_FALSE(records_of(0, family).empty());
    EXPECT_EQ(records_of(1, family), records_of(0, family)) << static_cast<int>(family);
  }
}

TEST_F(FollowerTest, AnEmptyDiskIsFilledFromASnapshot) {
  rounds(30);
  bench_.close(1);
  wipe(1);
  ASSERT_TRUE(bench_.open(1));
  ASSERT_NE(bench_.last_sent<Install>(), nullptr) << "the log does not reach back that far";
  const ShardState& state = bench_.shard(1).state();
  EXPECT_EQ(state.head_hash(), bench_.shard(0).state().head_hash());
  EXPECT_TRUE(std::ranges::equal(state.values(), bench_.shard(0).state().values()));
  EXPECT_EQ(state.producers(), bench_.shard(0).state().producers());
  EXPECT_EQ(records_of(1, Family::kPushes), records_of(0, Family::kPushes));
  rounds(1);
  EXPECT_EQ(version(), Version(32)) << "and it goes on from there";
}

TEST_F(FollowerTest, AnEntryThatDoesNotFitIsAskedFor) {
  bench_.cut(0, 1);
  rounds(2);
  bench_.deliver(0, 1, Replicate{ShardId(), Epoch(1), Version(1), stored(3)});
  EXPECT_EQ(version(), Version(1));
  const auto* asked = bench_.last_sent<Subscribe>();
  ASSERT_NE(asked, nullptr);
  EXPECT_EQ(asked->have, Version(1));
  EXPECT_EQ(asked->have_hash, bench_.shard(1).state().head_hash());
}

TEST_F(FollowerTest, ARepeatedEntryChangesNothing) {
  rounds(1);
  const Hash before = bench_.shard(1).state().head_hash();
  bench_.deliver(0, 1, Replicate{ShardId(), Epoch(1), Version(2), stored(2)});
  EXPECT_EQ(bench_.shard(1).state().head_hash(), before);
}

TEST_F(FollowerTest, AnOlderLeaderChangesNothing) {
  bench_.close(0);
  ASSERT_TRUE(bench_.open(0));  // epoch 2
  const auto expect_refused = [this] {
    const std::size_t before = bench_.notices(Notice::Kind::kStaleEpoch);
    bench_.deliver(0, 1, Replicate{ShardId(), Epoch(1), Version(1), next_of(Epoch(1))});
    EXPECT_EQ(version(), Version(1));
    EXPECT_EQ(bench_.notices(Notice::Kind::kStaleEpoch), before + 1);
  };
  expect_refused();
  bench_.close(0);
  bench_.close(1);
  const auto written = bench_.store(1).get(Family::kMeta, records::meta_key('e', ShardId()));
  EXPECT_EQ(*records::decode_u64(**written), 2U) << "whatever the control store says, or does not";
  ASSERT_TRUE(bench_.open(1));
  expect_refused();
  bench_.deliver(0, 1, Replicate{ShardId(), Epoch(2), Version(1), next_of(Epoch(2))});
  EXPECT_EQ(version(), Version(2)) << "and the right one is heard";
}

}  // namespace
}  // namespace godwit
