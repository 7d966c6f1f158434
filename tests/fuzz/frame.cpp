// Frame headers and GOODBYE. A checksum that fuzzing cannot guess is mended, so that what lies
// behind it is reached.
#include "shared/net/frame.h"

#include <algorithm>

#include "shared/base/checksum.h"
#include "tests/fuzz/targets.h"

namespace godwit::fuzz {
namespace {

constexpr std::size_t kChecksumAt = net::kFrameHeaderBytes - sizeof(std::uint32_t);

bool comes_back(const net::EncodedHeader& bytes) {
  const auto header = net::parse_header(bytes);
  if (!header) return false;
  GODWIT_CHECK(header->control_bytes <= net::kMaxControlBytes, "lengths are bounded");
  GODWIT_CHECK(header->payload_bytes <= net::kMaxPayloadBytes, "lengths are bounded");
  GODWIT_CHECK(net::encode_header(*header) == bytes, "a header has one encoding");
  return true;
}

void goodbye(ByteView control) {
  const Error reason = net::parse_goodbye(control);
  GODWIT_CHECK(name(reason.code) != "unknown", "the code is one of ours");
  GODWIT_CHECK(reason.context.size() < 2 * net::kMaxGoodbyeText, "the text is bounded");
  const net::Frame again = net::make_goodbye(reason);
  GODWIT_CHECK(net::parse_goodbye(again.control).code == reason.code, "the code comes back");
}

}  // namespace

bool frame(ByteView input) {
  goodbye(input);
  if (input.size() < net::kFrameHeaderBytes) return false;
  net::EncodedHeader bytes;
  std::copy_n(input.begin(), bytes.size(), bytes.begin());
  if (comes_back(bytes)) return true;
  const std::uint64_t sum = checksum(ByteView(bytes).first(kChecksumAt)).value();
  for (std::size_t i = 0; i < sizeof(std::uint32_t); ++i)
    bytes[kChecksumAt + i] = static_cast<std::byte>(sum >> (8 * i));
  return comes_back(bytes);
}

}  // namespace godwit::fuzz
