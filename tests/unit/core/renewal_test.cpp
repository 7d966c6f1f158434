// A region whose disk is damaged leaves the sets before its replicas go, and comes back under another name.
#include "server/core/renewal.h"

#include <gtest/gtest.h>

#include "server/core/records.h"
#include "server/storage/memory_store.h"

namespace godwit {
namespace {

constexpr RegionId kSelf(1), kOther(2), kThird(5);

ShardRecord record(RegionId leader, InSync in_sync) { return {leader, Epoch(3), Epoch(2), std::move(in_sync)}; }

TEST(Renewal, ALeaderLeavesAndAnotherMemberLeads) {
  const auto left = left_by(kSelf, ShardId(0), record(kSelf, {{kSelf, Incarnation(7)}, {kOther, Incarnation(8)}}));
  ASSERT_TRUE(left);
  EXPECT_EQ(left->leader, kOther);
  EXPECT_EQ(left->epoch, Epoch(4));
  EXPECT_EQ(left->in_sync, (InSync{{kOther, Incarnation(8)}}));
}

TEST(Renewal, AFollowerLeavesAndTheLeaderStays) {
  const InSync set{{kSelf, Incarnation(7)}, {kOther, Incarnation(8)}, {kThird, Incarnation(9)}};
  const auto left = left_by(kSelf, ShardId(0), record(kThird, set));
  ASSERT_TRUE(left);
  EXPECT_EQ(left->leader, kThird);
  EXPECT_EQ(left->epoch, Epoch(3));
  EXPECT_EQ(left->in_sync, (InSync{{kOther, Incarnation(8)}, {kThird, Incarnation(9)}}));
}

TEST(Renewal, WhoIsNoMemberHasNothingToLeave) {
  const ShardRecord others = record(kOther, {{kOther, Incarnation(8)}});
  EXPECT_EQ(*left_by(kSelf, ShardId(0), others), others);
}

TEST(Renewal, TheOnlyMemberStays) {
  const auto left = left_by(kSelf, ShardId(4), record(kSelf, {{kSelf, Incarnation(7)}}));
  ASSERT_FALSE(left);
  EXPECT_EQ(left.error().code, Errc::kConflict);
  EXPECT_NE(left.error().context.find("shard 4"), std::string::npos) << left.error().context;
}

TEST(Renewal, TheReplicasGetANameAndTheOutboxKeepsItsNumbers) {
  MemoryStore store;
  const ShardId shard(0);
  EXPECT_EQ(*replica_incarnation(store, Incarnation(7)), Incarnation(7)) << "that of the directory, at first";
  Batch batch;
  for (const char table : {'p', 's', 'c', 'w'}) batch.put(Family::kMeta, records::meta_key(table, shard), Bytes(3));
  ASSERT_TRUE(store.write(batch));
  ASSERT_TRUE(store.write(replica_renamed(Incarnation(12))));
  ASSERT_TRUE(store.write(replica_dropped({Epoch(3)})));
  EXPECT_EQ(*replica_incarnation(store, Incarnation(7)), Incarnation(12));
  EXPECT_EQ(*replica_incarnation(store, Incarnation(13)), Incarnation(13)) << "a process that promises nothing";
  for (const char table : {'p', 's', 'c'}) EXPECT_FALSE(*store.get(Family::kMeta, records::meta_key(table, shard)));
  EXPECT_TRUE(*store.get(Family::kMeta, records::meta_key('w', shard)));
  const auto epoch = store.get(Family::kMeta, records::meta_key('e', shard));
  EXPECT_EQ(*records::decode_u64(**epoch), 3U) << "an older leader stays refused";
}

}  // namespace
}  // namespace godwit
