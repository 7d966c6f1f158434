// What a frame carries. Numbers travel on the wire and are never reused: ledger in schema/README.md.
#pragma once

#include <cstdint>

namespace godwit {

enum class MessageKind : std::uint16_t {
  // 1..15: the connection itself, handled by shared/net
  kHello = 1,    // the dialer's first frame
  kWelcome = 2,  // the server's answer: only now may the dialer send anything else
  kGoodbye = 3,  // the last frame before a close: u16 error code, string why
  kPing = 4,     // u64 number
  kPong = 5,     // the number of the ping that it answers
  // 16 and up: conversations
};

}  // namespace godwit
