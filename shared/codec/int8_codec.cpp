// int8: groups of 256 values share one scale; a value is an integer in [-127, 127] times that
// scale.
//
//   scale = max|x| / 127, rounded (nearest, ties to even) to 17 significant bits; 0 if below 2^-126
//   q     = x / scale, rounded to an integer (nearest, ties to even)
//   x'    = q * scale
//
// Why 17 bits: a 7-bit q times a 17-bit scale fits the 24 bits of fp32, so x' is exact. The largest
// quotient is 127 within 127 * 2^-17, so it rounds to 127; max|x'| is then 127 * scale, and
// encoding x' finds the same scale and the same q: encode(decode(bytes)) == bytes by construction,
// and no q leaves
// [-127, 127]. Why no scale below 2^-126: neither scale nor x' is ever denormal, so processors that
// flush denormals decode the same bits. The scale of the largest finite fp32 rounds down, so x' is
// finite. Error: at most max|x| / 254 * (1 + 2^-15) in a group; a group below 127 * 2^-126 becomes
// zeros.
//
// Layout: first the scales, one fp32 little-endian per group, then the q of all values, one byte
// each (the last group may be short, nothing is padded). So each part is one aligned, contiguous
// stream: a GPU block owns a group, reduces max|x|, writes one scale and 256 neighbouring bytes.
#include <algorithm>
#include <bit>
#include <cstring>

#include "shared/codec/codec.h"
#include "shared/codec/int8_group.h"

namespace godwit {
namespace {

using namespace int8;

float largest_magnitude(std::span<const float> group) {
  std::int32_t largest = 0;  // magnitudes order as their bits do; NaN above all, so that it shows
  for (const float value : group)
    largest = std::max(largest, std::bit_cast<std::int32_t>(value) & 0x7FFFFFFF);
  return std::bit_cast<float>(largest);
}

// Returns the scale.
float encode_group(std::span<const float> group, std::byte* to) {
  const float scale = scale_of(largest_magnitude(group));
  const float divisor = divisor_of(scale);
  for (std::size_t i = 0; i < group.size(); ++i)
    to[i] = static_cast<std::byte>(round_to_byte(group[i] / divisor));
  return scale;
}

// False: a byte is -128, which no encoder writes.
bool decode_group(const std::byte* from, float scale, std::span<float> group) {
  unsigned outside = 0;
  for (std::size_t i = 0; i < group.size(); ++i) {
    const auto q = static_cast<std::int8_t>(from[i]);
    outside |= static_cast<unsigned>(q == -128);
    group[i] = static_cast<float>(q) * scale;
  }
  return outside == 0;
}

class Int8Codec final : public Codec {
 public:
  CodecId id() const override { return CodecId::kInt8; }
  std::string_view name() const override { return "int8"; }
  std::size_t max_encoded_bytes(std::size_t count) const override {
    return encoded_bytes(count);
  }
  std::size_t element_bytes() const override { return 1; }

  void encode(std::span<const float> values, Bytes& out) const override {
    const std::size_t start = out.size();
    out.resize(start + max_encoded_bytes(values.size()));
    std::byte* scales = out.data() + start;
    std::byte* to = scales + scale_bytes(values.size());
    for (std::size_t at = 0; at < values.size(); at += kGroup, scales += sizeof(float)) {
      const auto group = values.subspan(at, std::min(kGroup, values.size() - at));
      const float scale = encode_group(group, to + at);
      std::memcpy(scales, &scale, sizeof(scale));
    }
  }

  Result<void> decode(ByteView bytes, std::span<float> values) const override {
    if (bytes.size() != max_encoded_bytes(values.size())) {
      return Error{Errc::kMalformed, "int8 block of " + std::to_string(values.size()) +
                                         " values has " + std::to_string(bytes.size()) + " bytes"};
    }
    const std::byte* scales = bytes.data();
    const std::byte* from = scales + scale_bytes(values.size());
    for (std::size_t at = 0; at < values.size(); at += kGroup, scales += sizeof(float)) {
      const auto group = values.subspan(at, std::min(kGroup, values.size() - at));
      float scale = 0;
      std::memcpy(&scale, scales, sizeof(scale));
      if (!is_scale(scale)) return malformed("impossible scale", at);
      if (!decode_group(from + at, scale, group)) return malformed("-128", at);
    }
    return {};
  }

 private:
  static Error malformed(const char* what, std::size_t at) {
    return {Errc::kMalformed,
            std::string("int8 block: ") + what + " in group " + std::to_string(at / kGroup)};
  }
};

}  // namespace

const Codec& int8_codec() {
  static const Int8Codec codec;
  return codec;
}

}  // namespace godwit
