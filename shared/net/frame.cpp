#include "shared/net/frame.h"

#include <algorithm>
#include <string>

#include "shared/base/byte_stream.h"
#include "shared/base/checksum.h"

namespace godwit::net {
namespace {

std::uint32_t header_checksum(ByteView fields) {
  return static_cast<std::uint32_t>(checksum(fields).value());
}

Error too_large(std::string_view what, std::uint32_t bytes, std::uint32_t limit) {
  return Error{Errc::kTooLarge, "frame header: " + std::string(what) + " of " +
                                    std::to_string(bytes) + " bytes, at most " +
                                    std::to_string(limit) + " allowed"};
}

}  // namespace

EncodedHeader encode_header(const FrameHeader& header) {
  GODWIT_REQUIRE(header.control_bytes <= kMaxControlBytes, "control above kMaxControlBytes");
  GODWIT_REQUIRE(header.payload_bytes <= kMaxPayloadBytes, "payload above kMaxPayloadBytes");
  ByteWriter writer;
  writer.put(kFrameMagic);
  writer.put(kProtocolVersion);
  writer.put(header.kind);
  writer.put(header.control_bytes);
  writer.put(header.payload_bytes);
  writer.put(header.stream);
  writer.put(header_checksum(writer.bytes()));
  GODWIT_CHECK(writer.bytes().size() == kFrameHeaderBytes, "header fields do not add up");
  EncodedHeader encoded;
  std::copy(writer.bytes().begin(), writer.bytes().end(), encoded.begin());
  return encoded;
}

Result<FrameHeader> parse_header(ByteView bytes) {
  GODWIT_REQUIRE(bytes.size() == kFrameHeaderBytes, "a header is exactly kFrameHeaderBytes");
  ByteReader reader(bytes);
  FrameHeader header;
  const auto magic = reader.get<std::uint32_t>();
  const auto version = reader.get<std::uint16_t>();
  reader.get(header.kind);
  reader.get(header.control_bytes);
  reader.get(header.payload_bytes);
  reader.get(header.stream);
  if (magic != kFrameMagic) {
    return Error{Errc::kMalformed,
                 "frame header: bad magic; the peer does not speak Godwit frames"};
  }
  if (reader.get<std::uint32_t>() != header_checksum(bytes.first(kFrameHeaderBytes - 4))) {
    return Error{Errc::kMalformed, "frame header: checksum does not match"};
  }
  if (version != kProtocolVersion) {
    return Error{Errc::kUnsupported, "frame header: protocol version " + std::to_string(version) +
                                         ", this build speaks " + std::to_string(kProtocolVersion) +
                                         "; run the same release on both sides"};
  }
  if (header.control_bytes > kMaxControlBytes) {
    return too_large("control", header.control_bytes, kMaxControlBytes);
  }
  if (header.payload_bytes > kMaxPayloadBytes) {
    return too_large("payload", header.payload_bytes, kMaxPayloadBytes);
  }
  return header;
}

Slice slice(SharedBytes owner, std::size_t offset, std::size_t count) {
  GODWIT_REQUIRE(owner != nullptr, "a slice needs a buffer");
  GODWIT_REQUIRE(offset <= owner->size() && count <= owner->size() - offset, "slice out of range");
  const ByteView bytes = view(owner).subspan(offset, count);
  return Slice{std::move(owner), bytes};
}

Slice slice(SharedBytes owner) {
  const std::size_t count = owner ? owner->size() : 0;
  return slice(std::move(owner), 0, count);
}

std::size_t Frame::payload_bytes() const {
  std::size_t total = 0;
  for (const Slice& part : payload) total += part.bytes.size();
  return total;
}

FrameHeader Frame::header() const {
  const std::size_t bytes = payload_bytes();
  GODWIT_REQUIRE(control.size() <= kMaxControlBytes, "control above kMaxControlBytes");
  GODWIT_REQUIRE(bytes <= kMaxPayloadBytes, "payload above kMaxPayloadBytes: send it in chunks");
  return FrameHeader{kind, static_cast<std::uint32_t>(control.size()),
                     static_cast<std::uint32_t>(bytes), stream};
}

SharedBytes Frame::received_payload() const {
  GODWIT_REQUIRE(payload.size() <= 1, "a received frame has one buffer");
  return payload.empty() ? nullptr : payload.front().owner;
}

Frame make_goodbye(const Error& reason) {
  ByteWriter writer;
  writer.put(reason.code);
  writer.put_string(std::string_view(reason.context).substr(0, kMaxGoodbyeText));
  Frame frame;
  frame.kind = MessageKind::kGoodbye;
  frame.control = writer.take();
  return frame;
}

Error parse_goodbye(ByteView control) {
  ByteReader reader(control);
  const auto code = reader.get<Errc>();
  std::string text = reader.get_string();
  if (!reader.finished()) return Error{Errc::kMalformed, "GOODBYE that does not parse"};
  text.resize(std::min(text.size(), kMaxGoodbyeText));
  std::replace_if(
      text.begin(), text.end(), [](char c) { return c < ' ' || c > '~'; }, '?');
  if (name(code) == "unknown") {
    return Error{Errc::kUnsupported, "the peer closed with unknown code " +
                                         std::to_string(static_cast<std::uint16_t>(code)) + ": " +
                                         text};
  }
  return Error{code, "the peer closed: " + text};
}

}  // namespace godwit::net
