#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <set>

#include "shared/wire/wire_message.h"
#include "tests/unit/wire/any_message.h"

namespace godwit::wire {
namespace {

RC_GTEST_PROP(Messages, EveryKindReadsBackAsWritten, ()) {
  for (const Message& message : generate::every_message()) {
    const WireMessage sent = encode(message);
    const Result<Message> received = decode(sent.kind, sent.control, sent.payloads);
    RC_ASSERT(received.has_value());
    RC_ASSERT(generate::same_message(*received, message));
  }
}

RC_GTEST_PROP(Messages, HaveAKindOfTheirOwnAndASmallControlPart, ()) {
  std::set<MessageKind> kinds;
  for (const Message& message : generate::every_message()) {
    const WireMessage sent = encode(message);
    RC_ASSERT(kinds.insert(sent.kind).second);
    RC_ASSERT(sent.control.size() < 2 * kMaxTextBytes);
  }
}

TEST(Messages, TravelWithTheVeryBytesThatWereGiven) {
  const SharedBytes header = share(Bytes(3));
  const SharedBytes block = share(Bytes(5));
  const WireMessage sent = encode(Offer{Epoch(1), header, {block}});
  EXPECT_EQ(sent.payloads, (std::vector<SharedBytes>{header, block}));
  const auto received = decode(sent.kind, sent.control, sent.payloads);
  ASSERT_TRUE(received.has_value());
  EXPECT_EQ(std::get<Offer>(*received).payloads, std::vector<SharedBytes>{block});
}

TEST(Messages, LongReasonsAreCut) {
  const WireMessage sent = encode(Stop{std::string(3 * kMaxTextBytes, 'x')});
  const auto received = decode(sent.kind, sent.control, sent.payloads);
  ASSERT_TRUE(received.has_value());
  EXPECT_EQ(std::get<Stop>(*received).reason.size(), kMaxTextBytes);
}

TEST(Messages, AnAbsentPayloadIsEmpty) {
  const WireMessage sent = encode(Push{{}, {nullptr}});
  ASSERT_EQ(sent.payloads.size(), 1U);
  EXPECT_TRUE(sent.payloads[0]->empty());
}

TEST(Messages, TheLargestIsASnapshotOfTheLargestShard) {
  Manifest manifest;
  manifest.tensors = {{"w", {1 << 28}, false}};
  const std::uint64_t one_shard = max_message_bytes(Layout(manifest));
  EXPECT_GE(one_shard, kMaxTableBytes + (4ULL << 28));
  manifest.shards = 4;
  EXPECT_LT(max_message_bytes(Layout(manifest)), one_shard);
}

}  // namespace
}  // namespace godwit::wire
