#include "shared/protocol/push.h"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <limits>

#include "tests/unit/protocol/generators.h"
#include "tests/unit/protocol/hex.h"

namespace godwit {
namespace {

RC_GTEST_PROP(PushHeaders, ReadBackAsWritten, ()) {
  const PushHeader push = generate::push();
  RC_ASSERT(*PushHeader::decode(push.encode()) == push);
  generate::check_every_truncation(push);
}

RC_GTEST_PROP(PushHeaders, DamageIsAnErrorOrAnotherValidValue, ()) {
  generate::check_hostile<PushHeader>(generate::damaged(generate::push().encode()));
}

RC_GTEST_PROP(ContributionHeaders, ReadBackAsWritten, ()) {
  const ContributionHeader contribution = generate::contribution();
  RC_ASSERT(*ContributionHeader::decode(contribution.encode()) == contribution);
  generate::check_every_truncation(contribution);
}

RC_GTEST_PROP(ContributionHeaders, DamageIsAnErrorOrAnotherValidValue, ()) {
  generate::check_hostile<ContributionHeader>(generate::damaged(generate::contribution().encode()));
}

RC_GTEST_PROP(ContributionHeaders, RandomBytesNeverCrash, (std::vector<std::uint8_t> noise)) {
  Bytes bytes{std::byte{1}};
  for (const std::uint8_t byte : noise) bytes.push_back(static_cast<std::byte>(byte));
  generate::check_hostile<ContributionHeader>(bytes);
  generate::check_hostile<PushHeader>(bytes);
}

void expect_refused(const PushHeader& push, Errc code, const std::string& context) {
  const auto decoded = PushHeader::decode(push.encode());
  ASSERT_FALSE(decoded.has_value());
  EXPECT_EQ(decoded.error(), (Error{code, context}));
}

TEST(PushHeaders, NameWhatIsWrong) {
  PushHeader push;
  ASSERT_TRUE(PushHeader::decode(push.encode()));
  push.kind = static_cast<PushKind>(9);
  expect_refused(push, Errc::kMalformed, "push header: unknown kind 9");
  push = {};
  push.codec = CodecSpec::from_wire(0x7F);
  expect_refused(push, Errc::kUnsupported, "push header: unknown codec 127");
  push = {};
  push.weight = std::numeric_limits<float>::quiet_NaN();
  expect_refused(push, Errc::kMalformed, "push header: weight is negative or not finite");
  push.weight = -1;
  expect_refused(push, Errc::kMalformed, "push header: weight is negative or not finite");
  push = {};
  push.base_weight = std::numeric_limits<double>::infinity();
  expect_refused(push, Errc::kMalformed, "push header: base weight is negative or not finite");
}

TEST(PushHeaders, AnotherFormatIsUnsupported) {
  Bytes bytes = PushHeader{}.encode();
  bytes[0] = std::byte{1};
  EXPECT_EQ(PushHeader::decode(bytes).error(),
            (Error{Errc::kUnsupported, "push header: format 1 is not known here, 2 is"}));
}

TEST(ContributionHeaders, AnAbsurdCountIsRefusedBeforeAnyAllocation) {
  Bytes bytes = ContributionHeader{}.encode();
  for (std::size_t i = bytes.size() - 4; i < bytes.size(); ++i) bytes[i] = std::byte{0xFF};
  EXPECT_EQ(ContributionHeader::decode(bytes).error().code, Errc::kMalformed);
}

TEST(ContributionHeaders, SumOnlyAppliedMembers) {
  ContributionHeader contribution;
  contribution.members = {{{}, 2, 1, 10, 1, Verdict::kApplied},
                          {{}, 4, 1, 20, 1, Verdict::kRefused},
                          {{}, 8, 1, 40, 1, Verdict::kApplied}};
  EXPECT_EQ(contribution.weight(), 10);
  EXPECT_EQ(contribution.tokens(), 50U);
}

TEST(ContributionHeadersDeathTest, WhatCannotBeReadIsNeverWritten) {
  ContributionHeader contribution;
  contribution.members.emplace_back().clip = std::numeric_limits<float>::quiet_NaN();
  EXPECT_DEATH(contribution.encode(), "finite scalars");
}

// Lies in outboxes and logs: if this fails, the format changed and needs a new format byte.
TEST(ContributionHeaders, GoldenBytes) {
  ContributionHeader contribution;
  contribution.region = RegionId(2);
  contribution.incarnation = Incarnation(0x0102030405060708);
  contribution.sequence = SequenceNo(7);
  contribution.shard = ShardId(1);
  contribution.round = Round(12);
  contribution.base_version = Version(11);
  contribution.base_weight = 1.5;
  contribution.restore_epoch = RestoreEpoch(0x77);
  contribution.members = {
      {{WorkerId(5), Incarnation(6), SequenceNo(3)}, 256, 4, 1024, 0.5F, Verdict::kApplied}};
  contribution.blocks = {{{CodecId::kInt8, true}, 4096, Hash(0xAABBCCDD)}};
  EXPECT_EQ(hex(contribution.encode()),
            "02020000000807060504030201070000000000000001000000020c0000000000000001000000000b"
            "00000000000000000000000000f83f770000000000000001000000050000000000000006000000000000000300000000"
            "000000000080430400000000040000000000000000003f01010000008300100000ddccbbaa000000"
            "00");
}

}  // namespace
}  // namespace godwit
