// Hello, Welcome, and the calls to the control store.
#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include "shared/wire/control_wire.h"
#include "shared/wire/hello.h"
#include "tests/unit/protocol/generators.h"

namespace godwit::wire {
namespace {

Hello some_hello() {
  return {kConversationVersion, "demo", "worker", "us-west", "worker-0", Hash(42)};
}

Welcome some_welcome() {
  Welcome welcome;
  welcome.region = "us-west";
  welcome.region_index = RegionId(1);
  welcome.region_count = 3;
  welcome.shard_count = 2;
  welcome.incarnation = Incarnation(77);
  welcome.lan_codec = {CodecId::kBf16, true};
  welcome.window_ms = 1500;
  welcome.max_local_steps = 512;
  welcome.max_push_tokens = 1ULL << 40;
  welcome.acknowledgement = "region";
  welcome.sync_steps = 16;
  return welcome;
}

TEST(ConnectionMessages, HelloReadsBackAsWritten) {
  EXPECT_EQ(*decode_hello(encode(some_hello())), some_hello());
}

TEST(ConnectionMessages, WelcomeReadsBackAsWritten) {
  EXPECT_EQ(*decode_welcome(encode(some_welcome())), some_welcome());
}

TEST(ConnectionMessages, AnotherVersionIsUnsupportedWhateverElseItSays) {
  Hello hello = some_hello();
  hello.protocol_version = 9;
  EXPECT_EQ(decode_hello(encode(hello)).error(),
            (Error{Errc::kUnsupported,
                   "hello: the peer speaks version 9, this build version 1; run the same "
                   "release on both sides"}));
}

RC_GTEST_PROP(ConnectionMessages, DamageNeverCrashes, ()) {
  (void)decode_hello(generate::damaged(encode(some_hello()))).has_value();
  (void)decode_welcome(generate::damaged(encode(some_welcome()))).has_value();
}

ControlRequest some_request(ControlKind kind) {
  ControlRequest request;
  request.kind = kind;
  request.key = "run/mode";
  request.expected_revision = Revision(4);
  request.value = copy(view("region-a"));
  request.ttl = seconds(5);
  request.since_revision = Revision(3);
  request.wait = milliseconds(1500);
  return request;
}

TEST(ControlCalls, EveryKindOfRequestReadsBackAsWritten) {
  for (int kind = 1; kind <= static_cast<int>(ControlKind::kWatch); ++kind) {
    const ControlRequest request = some_request(static_cast<ControlKind>(kind));
    const auto call = decode_control_call(encode(ControlCall{12, request}));
    ASSERT_TRUE(call.has_value());
    EXPECT_EQ(call->call, 12U);
    EXPECT_EQ(call->request.kind, request.kind);
    EXPECT_EQ(call->request.key, request.key);
    EXPECT_EQ(call->request.expected_revision, request.expected_revision);
    EXPECT_EQ(call->request.value, request.value);
    EXPECT_EQ(call->request.ttl, request.ttl);
    EXPECT_EQ(call->request.since_revision, request.since_revision);
    EXPECT_EQ(call->request.wait, request.wait);
  }
}

TEST(ControlCalls, ARequestThatBreaksARuleIsInvalid) {
  WireMessage message = encode(ControlCall{1, some_request(ControlKind::kLeaseKeepalive)});
  message.payloads = {share({})};
  EXPECT_EQ(decode_control_call(message).error(), (Error{Errc::kInvalid, "lease holder: empty"}));
  message.payloads = {};
  EXPECT_EQ(decode_control_call(message).error(),
            (Error{Errc::kMalformed, "control request: payloads are missing"}));
}

ControlReply some_reply() {
  ControlReply reply;
  reply.error = Error{Errc::kConflict, "lost the race"};
  reply.items = {{"run/mode", copy(view("sync")), Revision(9)}, {"run/manifest", {}, Revision(2)}};
  reply.revision = Revision(9);
  reply.more = true;
  return reply;
}

TEST(ControlCalls, RepliesReadBackAsWritten) {
  for (const ControlReply& reply : {some_reply(), ControlReply{}}) {
    const auto answer = decode_control_answer(encode(ControlAnswer{7, reply}));
    ASSERT_TRUE(answer.has_value());
    EXPECT_EQ(answer->call, 7U);
    EXPECT_EQ(answer->reply, reply);
  }
}

RC_GTEST_PROP(ControlCalls, DamageIsAnErrorOrAnotherValidValue, ()) {
  WireMessage request = encode(ControlCall{1, some_request(ControlKind::kWatch)});
  request.control = generate::damaged(request.control);
  if (const auto call = decode_control_call(request))
    RC_ASSERT(validate(call->request).has_value());
  WireMessage reply = encode(ControlAnswer{1, some_reply()});
  reply.control = generate::damaged(reply.control);
  reply.payloads = {share(generate::damaged(*reply.payloads[0]))};
  if (const auto answer = decode_control_answer(reply)) RC_ASSERT(answer->reply.items.size() < 10U);
}

}  // namespace
}  // namespace godwit::wire
