// Whatever a peer sends is a message or a named error; run with the asan preset.
#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <limits>

#include "shared/wire/control_wire.h"
#include "shared/wire/hello.h"
#include "shared/wire/wire_message.h"
#include "tests/unit/wire/any_message.h"

namespace godwit::wire {
namespace {

constexpr std::uint16_t kFirstKind = 16;
constexpr std::uint16_t kLastKind = 36;

// Survives, and says why when it refuses. What is accepted can be sent again.
void receive(MessageKind kind, ByteView control, std::vector<SharedBytes> payloads) {
  const Result<Message> received = decode(kind, control, std::move(payloads));
  if (received) {
    RC_ASSERT(encode(*received).kind == kind);
  } else {
    RC_ASSERT(!received.error().context.empty());
  }
}

RC_GTEST_PROP(HostileMessages, DamagedControlPartsNeverCrash, ()) {
  for (const Message& message : generate::every_message()) {
    const WireMessage sent = encode(message);
    receive(sent.kind, generate::damaged(sent.control), sent.payloads);
  }
}

RC_GTEST_PROP(HostileMessages, DamagedPayloadsNeverCrash, ()) {
  for (const Message& message : generate::every_message()) {
    WireMessage sent = encode(message);
    if (sent.payloads.empty()) continue;
    SharedBytes& victim = sent.payloads[generate::size(sent.payloads.size())];
    victim = share(generate::damaged(*victim));
    receive(sent.kind, sent.control, sent.payloads);
  }
}

RC_GTEST_PROP(HostileMessages, MissingAndExtraPayloadsAreRefusedWhereTheyAreCounted, ()) {
  for (const Message& message : generate::every_message()) {
    const WireMessage sent = encode(message);
    auto more = sent.payloads;
    more.push_back(generate::payload());
    receive(sent.kind, sent.control, more);
    if (std::holds_alternative<Replicate>(message) || std::holds_alternative<Join>(message)) {
      RC_ASSERT(decode(sent.kind, sent.control, more).error().code == Errc::kMalformed);
    }
    if (sent.payloads.empty()) continue;
    auto fewer = sent.payloads;
    fewer.pop_back();
    receive(sent.kind, sent.control, fewer);
    if (std::holds_alternative<Replicate>(message)) {
      RC_ASSERT(decode(sent.kind, sent.control, fewer).error().code == Errc::kMalformed);
    }
  }
}

RC_GTEST_PROP(HostileMessages, RandomWordsNeverCrash, (std::vector<std::uint64_t> words)) {
  // A plausible segment table in front makes Cap'n Proto look at the rest.
  words.insert(words.begin(), static_cast<std::uint64_t>(words.size()) << 32);
  Bytes control(words.size() * 8);
  std::memcpy(control.data(), words.data(), control.size());
  for (std::uint16_t kind = kFirstKind; kind <= kLastKind; ++kind) {
    receive(static_cast<MessageKind>(kind), control, {generate::payload(), generate::payload()});
  }
  if (const auto hello = decode_hello(control)) RC_ASSERT(decode_hello(encode(*hello)).has_value());
  if (const auto welcome = decode_welcome(control))
    RC_ASSERT(*decode_welcome(encode(*welcome)) == *welcome);
  const auto call =
      decode_control_call({MessageKind::kControlRequest, control, {generate::payload()}});
  if (call) RC_ASSERT(validate(call->request).has_value());
  (void)decode_control_answer({MessageKind::kControlReply, control, {generate::payload()}})
      .has_value();
}

RC_GTEST_PROP(HostileMessages, AnotherKindsControlPartNeverCrashes, ()) {
  const WireMessage sent = encode(generate::any_message());
  for (std::uint16_t kind = kFirstKind; kind <= kLastKind; ++kind) {
    receive(static_cast<MessageKind>(kind), sent.control, sent.payloads);
  }
}

TEST(HostileMessages, UnknownKindsAreUnsupported) {
  for (const int kind : {0, 1, 6, 15, 37, 999}) {
    EXPECT_EQ(decode(static_cast<MessageKind>(kind), {}, {}).error().code, Errc::kUnsupported)
        << kind;
  }
}

TEST(HostileMessages, AControlPartAboveItsLimitIsTooLarge) {
  const Bytes control(kMaxControlBytes + 8);
  EXPECT_EQ(decode(MessageKind::kJoin, control, {}).error().code, Errc::kTooLarge);
}

TEST(HostileMessages, ErrorsNameMessageAndField) {
  const WireMessage join = encode(Join{std::numeric_limits<float>::quiet_NaN()});
  EXPECT_EQ(decode(join.kind, join.control, {}).error(),
            (Error{Errc::kMalformed, "join: weight is negative or not finite"}));
  OfferReply reply;
  reply.outcome = static_cast<OfferOutcome>(7);
  const WireMessage odd = encode(reply);
  EXPECT_EQ(decode(odd.kind, odd.control, {}).error(),
            (Error{Errc::kMalformed, "offer reply: unknown outcome 7"}));
  PushReply refused;
  refused.reason = static_cast<Errc>(7);
  const WireMessage push = encode(refused);
  EXPECT_EQ(decode(push.kind, push.control, {}).error(),
            (Error{Errc::kMalformed, "push reply: unknown reason 7"}));
  EXPECT_EQ(decode(MessageKind::kJoin, Bytes(7), {}).error(),
            (Error{Errc::kMalformed, "join: control part is not whole words"}));
}

TEST(HostileMessages, ABlockOfAnotherSizeThanItsEntryStatesIsRefused) {
  Entry entry;
  entry.header.blocks.emplace_back().bytes = 4;
  entry.payloads = {share(Bytes(4))};
  entry.encoded = share(entry.header.encode());
  WireMessage sent = encode(Replicate{ShardId(0), Epoch(1), Version(0), entry});
  ASSERT_TRUE(decode(sent.kind, sent.control, sent.payloads));
  sent.payloads[1] = share(Bytes(5));
  EXPECT_EQ(decode(sent.kind, sent.control, sent.payloads).error(),
            (Error{Errc::kMalformed, "block 0 has not the size that its entry states"}));
}

}  // namespace
}  // namespace godwit::wire
