// Messages as a line of the trace, and how many bytes they are on a wire (near enough for a rate).
#pragma once

#include <string>

#include "shared/protocol/messages.h"

namespace godwit::sim {

std::string describe(const Message& message);
std::size_t message_bytes(const Message& message);
std::string to_string(const PushId& id);

}  // namespace godwit::sim
