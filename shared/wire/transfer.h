// Transfers: how a message crosses as frames, and how it is put together again. Pure.
//
// An opening frame has the message's kind and, in front of its control part,
//   u32 number of payloads; if there are any: u64 transfer, u32 chunk size, u32 size of each
//   payload
// A chunk frame has kind kChunk, a control part of
//   u64 transfer, u32 payload, u32 chunk
// and the bytes [chunk x chunk size, + chunk size) of that payload, fewer at its end. Numbers are
// little-endian. A transfer's number is the sender's choice, unique among its open ones.
//
// Chunks may come in any order after the opening, over any connection: nothing but the numbers says
// where they belong. Messages complete in the order in which their last frames arrive.
#pragma once

#include <cstdint>
#include <optional>
#include <unordered_map>
#include <vector>

#include "shared/wire/wire_message.h"

namespace godwit::wire {

inline constexpr std::uint32_t kMaxChunkBytes = 4U << 20;

// A frame to be sent. The payload is `bytes` of *owner from `offset`; no owner, no payload.
struct OutFrame {
  MessageKind kind{};
  Bytes control;
  SharedBytes owner;
  std::size_t offset = 0;
  std::size_t bytes = 0;
};

// The opening frame, then the chunks in order. Payloads are referred to, not copied.
// REQUIRES: at most kMaxPayloads payloads, each below 4 GiB; 0 < chunk_bytes <= kMaxChunkBytes;
// a control part that fits kMaxControlBytes together with the sizes.
std::vector<OutFrame> split(WireMessage message, std::uint64_t transfer,
                            std::uint32_t chunk_bytes = kMaxChunkBytes);

// Limits of one Assembler. Whatever is above one of them is refused with kTooLarge before anything
// is allocated for it.
struct AssemblerLimits {
  // Control, payloads and kPayloadCost a payload of one message: max_message_bytes(layout).
  std::uint64_t max_message_bytes = kMaxMessageBytesBeforeManifest;
  // The same, summed over all open transfers.
  std::uint64_t max_open_bytes = 2 * kMaxMessageBytesBeforeManifest;
  std::uint32_t max_open_transfers = 64;
};
inline constexpr std::uint64_t kPayloadCost = 128;  // bytes that keeping track of a payload takes

// Puts the frames of one peer together. A chunk is copied once, to its place; one that is a whole
// payload is kept as it came. Unfinished transfers go when the Assembler goes. One thread at a
// time.
class Assembler {
 public:
  explicit Assembler(AssemblerLimits limits) : limits_(limits) {}

  // Once the run's manifest is known. Open transfers stay.
  void set_limits(AssemblerLimits limits) { limits_ = limits; }

  // The message that this frame completes, if it completes one. After an error the stream is
  // broken: close it. `payload` may be null: none. Errors: kMalformed, kTooLarge.
  Result<std::optional<WireMessage>> accept(MessageKind kind, Bytes control, SharedBytes payload);

  std::size_t open_transfers() const { return open_.size(); }
  // What the open transfers may come to hold, as announced.
  std::uint64_t open_bytes() const { return open_bytes_; }
  // Payload bytes that they do hold now.
  std::uint64_t held_bytes() const { return held_bytes_; }

 private:
  struct Payload {
    std::uint32_t size = 0;
    std::uint32_t missing_chunks = 0;
    std::vector<bool> arrived;  // by chunk; empty before the first
    Bytes buffer;               // allocated for the first of several chunks
    SharedBytes whole;          // complete
  };
  struct Transfer {
    MessageKind kind{};
    Bytes control;
    std::uint32_t chunk_bytes = 0;
    std::uint64_t cost = 0;
    std::size_t missing_payloads = 0;
    std::vector<Payload> payloads;
  };
  using Transfers = std::unordered_map<std::uint64_t, Transfer>;

  Result<std::optional<WireMessage>> open(MessageKind kind, const Bytes& control);
  Result<std::optional<WireMessage>> add_chunk(const Bytes& control, SharedBytes chunk);
  Result<void> place(Transfer& transfer, std::uint32_t payload, std::uint32_t index,
                     SharedBytes chunk);
  std::optional<WireMessage> finish(Transfers::iterator done);

  AssemblerLimits limits_;
  Transfers open_;
  std::uint64_t open_bytes_ = 0;
  std::uint64_t held_bytes_ = 0;
};

}  // namespace godwit::wire
