// Requests to the cluster's control store and their answers. `call` pairs them: several may be open
// on one connection, and a watch may answer after later ones.
#pragma once

#include "shared/protocol/control_messages.h"
#include "shared/wire/wire_message.h"

namespace godwit::wire {

struct ControlCall {
  std::uint64_t call = 0;  // unique among the open calls of a connection
  ControlRequest request;
};
struct ControlAnswer {
  std::uint64_t call = 0;
  ControlReply reply;
};

// REQUIRES: validate(request).
WireMessage encode(const ControlCall& call);
WireMessage encode(const ControlAnswer& answer);
// REQUIRES: the message's kind is kControlRequest or kControlReply. Includes validate(request).
// Errors: kMalformed, kTooLarge, kInvalid.
Result<ControlCall> decode_control_call(const WireMessage& message);
Result<ControlAnswer> decode_control_answer(const WireMessage& message);

}  // namespace godwit::wire
