// FrameReader: puts frames together from a TlsStream, as bytes come, without waiting. Payload goes
// straight into its own buffer, which grows with what arrives: a length alone costs no memory.
// One strand. Internal to shared/net.
#pragma once

#include <array>

#include "shared/net/buffer_pool.h"
#include "shared/net/frame.h"
#include "shared/net/tls_stream.h"

namespace godwit::net {

class FrameReader {
 public:
  enum class Progress {
    kComplete,  // take() the frame
    kBlocked,   // the stream has no more now: wait for it
    kBurst,     // a lot was read without a pause: let others run
  };

  // kMalformed, kUnsupported, kTooLarge: from the header. kClosed: the stream ended; the text says
  // whether in the middle of a frame.
  Result<Progress> advance(TlsStream& stream);
  // REQUIRES: kComplete.
  Frame take();

 private:
  enum Part : std::size_t { kHeader, kControl, kPayload };

  // Reads into the current part until it holds `wanted` bytes.
  Result<Progress> fill(TlsStream& stream, std::size_t wanted);
  Error ended(const Error& why) const;

  std::size_t part_ = kHeader;
  std::array<Bytes, 3> parts_;
  BufferPool pool_;         // of payload buffers
  std::size_t filled_ = 0;  // of parts_[part_]
  FrameHeader header_;      // once part_ is past kHeader
  std::size_t burst_bytes_ = 0;
};

}  // namespace godwit::net
