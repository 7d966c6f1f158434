// What a frame carries. Numbers travel on the wire and are never reused: ledger in
// schema/README.md.
#pragma once

#include <cstdint>

namespace godwit {

enum class MessageKind : std::uint16_t {
  // 1..15: the connection itself, handled by shared/net and shared/wire
  kHello = 1,    // the dialer's first frame
  kWelcome = 2,  // the server's answer: only now may the dialer send anything else
  kGoodbye = 3,  // the last frame before a close: u16 error code, string why
  kPing = 4,     // u64 number
  kPong = 5,     // the number of the ping that it answers
  kChunk = 6,    // a part of a payload: shared/wire/transfer.h

  // 16 and up: conversations. Worker -> its region's server
  kManifestOffer = 16,
  kJoin = 17,
  kLeave = 18,
  kPush = 19,
  kSkip = 20,
  kPull = 21,
  // Region server -> worker
  kManifestReply = 22,
  kPushReply = 23,
  kPullReply = 24,
  kAnnounce = 25,
  kStop = 26,
  // Region server -> leader
  kSubscribe = 27,
  kOffer = 28,
  kEmptyOffer = 29,
  kReplicated = 30,
  kPresence = 31,
  // Leader -> region server
  kSubscribed = 32,
  kReplicate = 33,
  kWatermark = 34,
  kInstall = 35,
  kOfferReply = 36,
  // Server -> the control host, and back
  kControlRequest = 37,
  kControlReply = 38,
  // Leader -> region server, as 32 to 36
  kLead = 39,
};

}  // namespace godwit
