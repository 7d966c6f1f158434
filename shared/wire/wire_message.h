// WireMessage: a message as it travels: its kind, a small control part (Cap'n Proto, schema/) and
// its payloads, by reference. Whatever can be large is a payload: blocks, manifests, encoded
// headers, tables. Pure functions, safe from every thread.
#pragma once

#include <cstdint>
#include <vector>

#include "shared/base/bytes.h"
#include "shared/base/result.h"
#include "shared/protocol/manifest.h"
#include "shared/protocol/message_kind.h"
#include "shared/protocol/messages.h"

namespace godwit::wire {

inline constexpr std::size_t kMaxControlBytes = 1U << 20;
inline constexpr std::size_t kMaxPayloads = 1U << 17;  // of one message
inline constexpr std::size_t kMaxTextBytes = 4096;     // a detail or reason: longer ones are cut
inline constexpr std::uint64_t kMaxTableBytes = 256ULL << 20;  // producers and pushes of a snapshot

struct WireMessage {
  MessageKind kind{};
  Bytes control;
  std::vector<SharedBytes> payloads;  // never null
};

// Payloads are shared, not copied.
// REQUIRES: one payload for each block that an entry's header lists; PullReply: a snapshot exactly
// with kSnapshot, entries only with kEntries; at most kMaxPayloads payloads.
WireMessage encode(const Message& message);

// Never trusts its input. Encoded entries are decoded and hashed; an offer's header is passed on as
// it is. Errors: kMalformed, kUnsupported (kind, or what a record inside refuses), kTooLarge,
// kInvalid (manifest).
Result<Message> decode(MessageKind kind, ByteView control, std::vector<SharedBytes> payloads);

// The largest message of a run: a snapshot of its largest shard, its tables included. A reply that
// would be larger is cut by the sender.
std::uint64_t max_message_bytes(const Layout& layout);
// Until the manifest of the run is known: the manifest itself and everything without blocks.
inline constexpr std::uint64_t kMaxMessageBytesBeforeManifest = 64ULL << 20;

}  // namespace godwit::wire
