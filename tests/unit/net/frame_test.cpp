#include "shared/net/frame.h"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include "shared/base/byte_stream.h"
#include "shared/base/checksum.h"

namespace godwit::net {
namespace {

// A header with any fields and a right checksum, limits or not.
Bytes forge(std::uint32_t magic, std::uint16_t version, std::uint32_t control,
            std::uint32_t payload) {
  ByteWriter writer;
  writer.put(magic);
  writer.put(version);
  writer.put(MessageKind::kHello);
  writer.put(control);
  writer.put(payload);
  writer.put(std::uint32_t{0});
  writer.put(static_cast<std::uint32_t>(checksum(writer.bytes()).value()));
  return writer.take();
}

FrameHeader any_header() {
  FrameHeader header;
  header.kind = static_cast<MessageKind>(*rc::gen::arbitrary<std::uint16_t>());
  header.control_bytes = *rc::gen::inRange<std::uint32_t>(0, kMaxControlBytes + 1);
  header.payload_bytes = *rc::gen::inRange<std::uint32_t>(0, kMaxPayloadBytes + 1);
  header.stream = *rc::gen::arbitrary<std::uint32_t>();
  return header;
}

RC_GTEST_PROP(FrameHeader, ParsesWhatItEncodes, ()) {
  const FrameHeader header = any_header();
  const Result<FrameHeader> parsed = parse_header(encode_header(header));
  RC_ASSERT(parsed.has_value());
  RC_ASSERT(*parsed == header);
}

RC_GTEST_PROP(FrameHeader, AnyFlippedBitIsSeen, ()) {
  EncodedHeader encoded = encode_header(any_header());
  const auto bit = *rc::gen::inRange<std::size_t>(0, 8 * kFrameHeaderBytes);
  encoded[bit / 8] ^= static_cast<std::byte>(1u << (bit % 8));
  RC_ASSERT(!parse_header(encoded));
}

RC_GTEST_PROP(FrameHeader, NoiseIsMalformed, ()) {
  const auto noise = *rc::gen::container<std::vector<std::uint8_t>>(
      kFrameHeaderBytes, rc::gen::arbitrary<std::uint8_t>());
  RC_ASSERT(parse_header(std::as_bytes(std::span(noise))).error().code == Errc::kMalformed);
}

TEST(FrameHeader, LimitsHoldBeforeAnythingElseHappens) {
  EXPECT_TRUE(
      parse_header(forge(kFrameMagic, kProtocolVersion, kMaxControlBytes, kMaxPayloadBytes)));
  const std::vector<Bytes> too_large = {
      forge(kFrameMagic, kProtocolVersion, kMaxControlBytes + 1, 0),
      forge(kFrameMagic, kProtocolVersion, 0, kMaxPayloadBytes + 1),
      forge(kFrameMagic, kProtocolVersion, 0xffffffff, 0xffffffff)};
  for (const Bytes& header : too_large) {
    EXPECT_EQ(parse_header(header).error().code, Errc::kTooLarge);
  }
  EXPECT_EQ(parse_header(forge(kFrameMagic, 2, 0, 0)).error().code, Errc::kUnsupported);
  EXPECT_EQ(parse_header(forge(1, kProtocolVersion, 0, 0)).error().code, Errc::kMalformed);
}

TEST(Goodbye, CarriesTheReason) {
  const Error reason{Errc::kForbidden, "workers may not lead"};
  const Error heard = parse_goodbye(make_goodbye(reason).control);
  EXPECT_EQ(heard.code, Errc::kForbidden);
  EXPECT_NE(heard.context.find("workers may not lead"), std::string::npos);
}

TEST(Goodbye, TrustsNeitherLengthNorCharactersNorCode) {
  const Error long_reason{Errc::kInvalid, std::string(10 * kMaxGoodbyeText, 'x')};
  EXPECT_LT(make_goodbye(long_reason).control.size(), kMaxGoodbyeText + 16);

  ByteWriter unknown;
  unknown.put(std::uint16_t{9999});
  unknown.put_string("a\nb\x1b[2J");
  const Error heard = parse_goodbye(unknown.bytes());
  EXPECT_EQ(heard.code, Errc::kUnsupported);
  EXPECT_EQ(heard.context.find('\n'), std::string::npos);
  EXPECT_EQ(heard.context.find('\x1b'), std::string::npos);

  EXPECT_EQ(parse_goodbye(ByteView(unknown.bytes()).first(3)).code, Errc::kMalformed);
  EXPECT_EQ(parse_goodbye({}).code, Errc::kMalformed);
}

TEST(FrameDeathTest, SlicesStayInsideTheirBuffer) {
  const SharedBytes buffer = share(Bytes(8));
  EXPECT_EQ(slice(buffer, 3, 5).bytes.size(), 5u);
  EXPECT_DEATH((void)slice(buffer, 4, 5), "slice out of range");
  EXPECT_DEATH((void)slice(buffer, 9, 0), "slice out of range");
}

}  // namespace
}  // namespace godwit::net
