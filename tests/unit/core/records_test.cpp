#include "server/core/records.h"

#include <gtest/gtest.h>

#include "server/core/open_aggregate.h"
#include "shared/base/checksum.h"
#include "tests/unit/core/bench.h"

namespace godwit {
namespace {

using test::filled;

Contribution contribution() {
  OpenAggregate aggregate;
  aggregate.add(test::make_push({}, filled(1)).header, filled(1), 1);
  return aggregate.close(Layout(test::small_manifest()).shards[0], {CodecId::kFp32, false});
}

// What decode() makes of every record that is cut short: an error, never a value.
template <class Decode>
void expect_prefixes_refused(const Bytes& bytes, Decode decode) {
  for (std::size_t length = 0; length < bytes.size(); ++length) {
    EXPECT_FALSE(decode(ByteView(bytes).first(length))) << "a prefix of " << length << " bytes";
  }
}

TEST(Records, ContributionRoundTrip) {
  const Contribution made = contribution();
  const auto read = records::decode_contribution(records::encode_contribution(made));
  ASSERT_TRUE(read);
  EXPECT_EQ(read->header, made.header);
  ASSERT_EQ(read->payloads.size(), made.payloads.size());
  for (std::size_t i = 0; i < made.payloads.size(); ++i) EXPECT_EQ(*read->payloads[i], *made.payloads[i]);
}

TEST(Records, EveryDamagedPayloadByteOfAContributionIsFound) {
  const Contribution made = contribution();
  const Bytes bytes = records::encode_contribution(made);
  for (std::size_t at = made.header.encode().size() + 4; at < bytes.size(); ++at) {
    Bytes damaged = bytes;
    damaged[at] ^= std::byte{1};
    EXPECT_FALSE(records::decode_contribution(damaged)) << "byte " << at;
  }
  expect_prefixes_refused(bytes, records::decode_contribution);
}

TEST(Records, TablesRoundTrip) {
  records::Producers producers;
  producers[{RegionId(1), Incarnation(7)}] = {SequenceNo(3), Version(9)};
  producers[{RegionId(2), Incarnation(1)}] = {SequenceNo(1), Version(2)};
  EXPECT_EQ(*records::decode_producers(records::encode_producers(producers)), producers);
  expect_prefixes_refused(records::encode_producers(producers), records::decode_producers);

  records::WorkerTable table{SequenceNo(12), {{WorkerId(4), {Incarnation(2), SequenceNo(8)}}}};
  const auto read = records::decode_workers(records::encode_workers(table));
  ASSERT_TRUE(read);
  EXPECT_EQ(read->next_sequence, table.next_sequence);
  EXPECT_EQ(read->workers, table.workers);
  expect_prefixes_refused(records::encode_workers(table), records::decode_workers);
}

TEST(Records, SnapshotRoundTrip) {
  const std::vector<float> values = filled(1), velocity = filled(-4);
  const Bytes bytes = records::encode_snapshot_block(Version(6), values, velocity);
  const auto read = records::decode_snapshot_block(bytes);
  ASSERT_TRUE(read);
  EXPECT_EQ(read->version, Version(6));
  EXPECT_EQ(read->values, values);
  EXPECT_EQ(read->velocity, velocity);
  expect_prefixes_refused(bytes, records::decode_snapshot_block);
  const std::vector<records::SnapshotHead> heads = {{3, Version(17), Version(19)}, {4, Version(20), Version(20)}};
  EXPECT_EQ(*records::decode_snapshots(records::encode_snapshots(heads)), heads);
  expect_prefixes_refused(records::encode_snapshots(heads), records::decode_snapshots);
  const std::vector<records::Pin> pins = {{Version(3), Hash(9)}};
  EXPECT_EQ(*records::decode_pins(records::encode_pins(pins)), pins);
  expect_prefixes_refused(records::encode_pins(pins), records::decode_pins);
}

TEST(Records, KeysSortByShardThenVersionThenKind) {
  std::vector<Bytes> keys = {
      records::payload_key(ShardId(0), Version(255), 1), records::commit_key(ShardId(0), Version(255)),
      records::log_begin(ShardId(0), Version(256)),      records::payload_key(ShardId(0), Version(256), 0),
      records::commit_key(ShardId(0), Version(256)),     records::payload_key(ShardId(1), Version(1), 0)};
  EXPECT_TRUE(std::is_sorted(keys.begin(), keys.end()));
  EXPECT_LT(records::outbox_key(ShardId(2), SequenceNo(~0ULL)), records::journal_key(ShardId(2)));
}

TEST(Records, PushKeyNamesItsPush) {
  const PushId id{WorkerId(~0ULL), Incarnation(258), SequenceNo(3)};
  EXPECT_EQ(*records::decode_push_key(records::push_key(ShardId(9), id)), id);
  EXPECT_FALSE(records::decode_push_key(Bytes(27)));
  const auto record = records::decode_push_record(records::encode_push_record(Version(5), Verdict::kRefused));
  ASSERT_TRUE(record);
  EXPECT_EQ(*record, std::pair(Version(5), Verdict::kRefused));
  EXPECT_FALSE(records::decode_push_record(records::encode_push_record(Version(5), Verdict(9))));
}

class StoredEntry : public ::testing::Test {
 protected:
  void SetUp() override {
    EntryHeader header;
    header.shard = ShardId(2);
    header.version = Version(8);
    std::vector<SharedBytes> payloads = {share(Bytes(10, std::byte{3})), share(Bytes(7, std::byte{4}))};
    for (const SharedBytes& payload : payloads) {
      header.blocks.push_back({{}, static_cast<std::uint32_t>(payload->size()), checksum(*payload), Hash(1)});
    }
    entry_ = records::make_entry(header, payloads);
    records::write_entry(entry_, batch_, batch_);
    ASSERT_TRUE(store_.write(batch_));
  }
  MemoryStore store_;
  Entry entry_;
  Batch batch_;
};

TEST_F(StoredEntry, RoundTrip) {
  const auto read = records::read_entry(store_, ShardId(2), Version(8));
  ASSERT_TRUE(read && *read);
  EXPECT_EQ((*read)->header, entry_.header);
  EXPECT_EQ((*read)->hash, entry_.hash);
  EXPECT_EQ(*(*read)->payloads[1], *entry_.payloads[1]);
  const auto other = records::read_entry(store_, ShardId(2), Version(9));
  ASSERT_TRUE(other);
  EXPECT_FALSE(other->has_value());
}

TEST_F(StoredEntry, ADamagedOrMissingPayloadIsCorruptAndSaysWhere) {
  Batch damage;
  damage.put(Family::kLog, records::payload_key(ShardId(2), Version(8), 1), Bytes(7, std::byte{5}));
  ASSERT_TRUE(store_.write(damage));
  const auto read = records::read_entry(store_, ShardId(2), Version(8));
  ASSERT_FALSE(read);
  EXPECT_EQ(read.error().code, Errc::kCorrupt);
  EXPECT_NE(read.error().context.find("version 8 block 1"), std::string::npos) << read.error().context;
  Batch loss;
  loss.erase(Family::kLog, records::payload_key(ShardId(2), Version(8), 1));
  ASSERT_TRUE(store_.write(loss));
  EXPECT_FALSE(records::read_entry(store_, ShardId(2), Version(8)));
}

}  // namespace
}  // namespace godwit
