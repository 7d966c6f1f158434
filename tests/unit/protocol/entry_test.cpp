#include "shared/protocol/entry.h"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <limits>

#include "shared/base/checksum.h"
#include "tests/unit/protocol/generators.h"
#include "tests/unit/protocol/hex.h"

namespace godwit {
namespace {

RC_GTEST_PROP(EntryHeaders, ReadBackAsWritten, ()) {
  const EntryHeader entry = generate::entry();
  RC_ASSERT(*EntryHeader::decode(entry.encode()) == entry);
  generate::check_every_truncation(entry);
}

RC_GTEST_PROP(EntryHeaders, DamageIsAnErrorOrAnotherValidValue, ()) {
  generate::check_hostile<EntryHeader>(generate::damaged(generate::entry().encode()));
}

RC_GTEST_PROP(EntryHeaders, RandomBytesNeverCrash, (std::vector<std::uint8_t> noise)) {
  Bytes bytes{std::byte{1}};
  for (const std::uint8_t byte : noise) bytes.push_back(static_cast<std::byte>(byte));
  generate::check_hostile<EntryHeader>(bytes);
}

TEST(EntryHeaders, NameWhatIsWrong) {
  EntryHeader entry;
  ASSERT_TRUE(EntryHeader::decode(entry.encode()));
  entry.kind = static_cast<EntryKind>(0);
  EXPECT_EQ(EntryHeader::decode(entry.encode()).error(),
            (Error{Errc::kMalformed, "entry header: unknown kind 0"}));
  entry = {};
  entry.outer = static_cast<Outer>(3);
  EXPECT_EQ(EntryHeader::decode(entry.encode()).error(),
            (Error{Errc::kMalformed, "entry header: unknown outer optimizer 3"}));
  entry = {};
  entry.blocks.emplace_back().codec = CodecSpec::from_wire(0x50);
  EXPECT_EQ(EntryHeader::decode(entry.encode()).error(),
            (Error{Errc::kUnsupported, "entry header: unknown codec 80"}));
  Bytes longer = EntryHeader{}.encode();
  longer.push_back(std::byte{0});
  EXPECT_EQ(EntryHeader::decode(longer).error(),
            (Error{Errc::kMalformed, "entry header: 1 bytes left over"}));
}

TEST(EntryHeadersDeathTest, WhatCannotBeReadIsNeverWritten) {
  EntryHeader entry;
  entry.inverse_weight = std::numeric_limits<float>::infinity();
  EXPECT_DEATH(entry.encode(), "finite scalars");
}

// The log's format and its hash chain: if this fails, the format changed and needs a new format
// byte.
TEST(EntryHeaders, GoldenBytes) {
  EntryHeader entry;
  entry.shard = ShardId(1);
  entry.version = Version(9);
  entry.epoch = Epoch(3);
  entry.leader = RegionId(6);
  entry.previous = Hash(0x1122334455667788);
  entry.round = Round(8);
  entry.mode_epoch = ModeEpoch(2);
  entry.sync_steps = 16;
  entry.restore_epoch = RestoreEpoch(0x77);
  entry.outer = Outer::kNesterov;
  entry.learning_rate = 0.5F;
  entry.momentum = 0.75F;
  entry.zero_velocity = true;
  entry.inverse_weight = 0.25F;
  entry.round_weight = 512;
  entry.median_steps = 16;
  entry.live = {{RegionId(0), 256}};
  Named named;
  named.sequence = SequenceNo(4);
  named.members = {
      {{WorkerId(5), Incarnation(6), SequenceNo(3)}, 256, 4, 1024, 1, Verdict::kApplied}};
  entry.contributions = {named};
  entry.total_weight = 4096;
  entry.total_tokens = 65536;
  entry.blocks = {{{CodecId::kBf16, false}, 512, Hash(1), Hash(2)}};
  EXPECT_EQ(hex(entry.encode()),
            "03010000000900000000000000030000000000000006000000887766554433221102080000000000"
            "000001020000000000000010000000770000000000000001020000003f0000403f010000803e00000000000080401000"
            "0000000000000000b040000001000000000001000000000000000000000000007040010000000000"
            "00000000000000000000040000000000000000000000000000000100000000000000000000803f01"
            "00000005000000000000000600000000000000030000000000000000008043040000000004000000"
            "0000000000803f0101000000020002000001000000000000000200000000000000");
  EXPECT_EQ(entry_hash(entry.encode()), checksum(entry.encode()));
}

}  // namespace
}  // namespace godwit
