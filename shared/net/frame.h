// The unit of the wire: a fixed header, a control message (opaque here), raw payload bytes.
//
//   offset  bytes  field (little-endian)
//   0       4      magic "GDWT"
//   4       2      protocol version
//   6       2      message kind
//   8       4      control length, at most kMaxControlBytes
//   12      4      payload length, at most kMaxPayloadBytes
//   16      4      stream: which conversation or chunk series this belongs to; 0 if none
//   20      4      low half of XXH3-64 of bytes 0..19
//
// A large tensor travels as many frames; cutting it up is the sender's business. Pure.
#pragma once

#include <array>
#include <cstdint>
#include <vector>

#include "shared/base/bytes.h"
#include "shared/base/result.h"
#include "shared/protocol/message_kind.h"

namespace godwit::net {

inline constexpr std::uint32_t kFrameMagic = 0x54574447;
inline constexpr std::uint16_t kProtocolVersion = 1;
inline constexpr std::size_t kFrameHeaderBytes = 24;
// A frame above either limit closes the stream with kTooLarge before anything is allocated.
inline constexpr std::uint32_t kMaxControlBytes = 1u << 20;
inline constexpr std::uint32_t kMaxPayloadBytes = 4u << 20;
// Longest GOODBYE text, in bytes; the rest is cut off.
inline constexpr std::size_t kMaxGoodbyeText = 1024;

struct FrameHeader {
  MessageKind kind{};
  std::uint32_t control_bytes = 0;
  std::uint32_t payload_bytes = 0;
  std::uint32_t stream = 0;

  bool operator==(const FrameHeader&) const = default;
};

using EncodedHeader = std::array<std::byte, kFrameHeaderBytes>;
EncodedHeader encode_header(const FrameHeader& header);

// REQUIRES: kFrameHeaderBytes of input. kMalformed: wrong magic or checksum; kUnsupported: another
// protocol version; kTooLarge: a length above its limit.
Result<FrameHeader> parse_header(ByteView bytes);

// Some bytes of a buffer that others may hold too. `bytes` lies inside *owner.
struct Slice {
  SharedBytes owner;
  ByteView bytes;
};
Slice slice(SharedBytes owner, std::size_t offset, std::size_t count);
Slice slice(SharedBytes owner);

struct Frame {
  MessageKind kind{};
  std::uint32_t stream = 0;
  Bytes control;
  std::vector<Slice> payload;  // to send: any number of slices; received: none or one, whole buffer

  std::size_t payload_bytes() const;
  FrameHeader header() const;
  std::size_t wire_bytes() const { return kFrameHeaderBytes + control.size() + payload_bytes(); }
  // The payload of a received frame; null if it has none. REQUIRES: at most one slice.
  SharedBytes received_payload() const;
};

Frame make_goodbye(const Error& reason);
// The peer's reason, its text marked as the peer's. Never trusts length, characters or code.
Error parse_goodbye(ByteView control);

}  // namespace godwit::net
