// Requests to the control store and its answers. The first byte says which of the two.
#include "shared/wire/control_wire.h"
#include "tests/fuzz/input.h"
#include "tests/fuzz/targets.h"
#include "tests/fuzz/whole_words.h"
#include "tests/unit/wire/same_message.h"

namespace godwit::fuzz {
namespace {

bool call_comes_back(const wire::WireMessage& message) {
  const auto call = wire::decode_control_call(message);
  if (!call) return false;
  GODWIT_CHECK(validate(call->request).has_value(), "what decodes is valid");
  const auto again = wire::decode_control_call(wire::encode(*call));
  GODWIT_CHECK(again.has_value() && again->call == call->call, "a call comes back");
  GODWIT_CHECK(generate::same(again->request, call->request), "its request comes back");
  return true;
}

bool answer_comes_back(const wire::WireMessage& message) {
  const auto answer = wire::decode_control_answer(message);
  if (!answer) return false;
  const auto again = wire::decode_control_answer(wire::encode(*answer));
  GODWIT_CHECK(again.has_value() && again->call == answer->call, "an answer comes back");
  GODWIT_CHECK(again->reply == answer->reply, "its reply comes back");
  return true;
}

}  // namespace

bool control_message(ByteView bytes) {
  Input input(bytes);
  const bool asks = input.number<std::uint8_t>() % 2 == 0;
  wire::WireMessage message;
  message.kind = asks ? MessageKind::kControlRequest : MessageKind::kControlReply;
  message.control = whole_words(input.part());
  message.payloads.push_back(share(copy(input.rest())));
  return asks ? call_comes_back(message) : answer_comes_back(message);
}

}  // namespace godwit::fuzz
