#include "shared/net/frame_reader.h"

#include <algorithm>

namespace godwit::net {
namespace {

// Bytes by which a buffer grows: touched while still in the cache. The first are few, since a header may be followed
// by nothing.
constexpr std::size_t kFirstBytes = 4u << 10;
constexpr std::size_t kGrowthBytes = 128u << 10;
// Bytes read in one go before other connections of this thread get a turn.
constexpr std::size_t kBurstBytes = 1u << 20;

}  // namespace

Result<FrameReader::Progress> FrameReader::fill(TlsStream& stream, std::size_t wanted) {
  Bytes& buffer = parts_[part_];
  if (part_ == kPayload && buffer.empty()) buffer = pool_.take(wanted);
  buffer.reserve(wanted);
  while (filled_ < wanted) {
    if (burst_bytes_ >= kBurstBytes) {
      burst_bytes_ = 0;
      return Progress::kBurst;
    }
    if (filled_ == buffer.size()) {
      buffer.resize(std::min(wanted, filled_ + (filled_ == 0 ? kFirstBytes : kGrowthBytes)));
    }
    const Result<std::size_t> count = stream.read(std::span(buffer).subspan(filled_));
    if (!count) return ended(count.error());
    if (*count == 0) {
      burst_bytes_ = 0;
      return Progress::kBlocked;
    }
    filled_ += *count;
    burst_bytes_ += *count;
  }
  return Progress::kComplete;
}

Result<FrameReader::Progress> FrameReader::advance(TlsStream& stream) {
  while (true) {
    std::size_t wanted = kFrameHeaderBytes;
    if (part_ == kControl) wanted = header_.control_bytes;
    if (part_ == kPayload) wanted = header_.payload_bytes;
    const Result<Progress> filled = fill(stream, wanted);
    if (!filled || *filled != Progress::kComplete || part_ == kPayload) return filled;
    if (part_ == kHeader) {
      const Result<FrameHeader> header = parse_header(parts_[kHeader]);
      if (!header) return header.error();
      header_ = *header;
    }
    ++part_;
    filled_ = 0;
  }
}

Error FrameReader::ended(const Error& why) const {
  if (why.code != Errc::kClosed || (part_ == kHeader && filled_ == 0)) return why;
  return Error{Errc::kClosed, "in the middle of a frame: " + why.context};
}

Frame FrameReader::take() {
  GODWIT_REQUIRE(part_ == kPayload && filled_ == header_.payload_bytes, "no complete frame");
  Frame frame;
  frame.kind = header_.kind;
  frame.stream = header_.stream;
  frame.control = std::move(parts_[kControl]);
  if (filled_ != 0) frame.payload.push_back(slice(pool_.share(std::move(parts_[kPayload]))));
  parts_[kHeader].clear();
  parts_[kControl] = Bytes();
  parts_[kPayload] = Bytes();
  part_ = kHeader;
  filled_ = 0;
  return frame;
}

}  // namespace godwit::net
