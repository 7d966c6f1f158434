// fp32: the values themselves, lossless.
//
// Layout: value i is 4 bytes, IEEE 754 binary32 little-endian, at offset 4 i. A copy on CPU and
// GPU.
#include <bit>
#include <cstring>

#include "shared/codec/codec.h"

namespace godwit {
namespace {

static_assert(std::endian::native == std::endian::little,
              "the layouts of all codecs are little-endian");

class Fp32Codec final : public Codec {
 public:
  CodecId id() const override { return CodecId::kFp32; }
  std::string_view name() const override { return "fp32"; }
  std::size_t max_encoded_bytes(std::size_t count) const override { return count * sizeof(float); }
  std::size_t element_bytes() const override { return sizeof(float); }

  void encode(std::span<const float> values, Bytes& out) const override {
    const ByteView bytes = std::as_bytes(values);
    out.insert(out.end(), bytes.begin(), bytes.end());
  }

  Result<void> decode(ByteView bytes, std::span<float> values) const override {
    if (bytes.size() != values.size_bytes()) {
      return Error{Errc::kMalformed, "fp32 block of " + std::to_string(values.size()) +
                                         " values has " + std::to_string(bytes.size()) + " bytes"};
    }
    if (!bytes.empty()) std::memcpy(values.data(), bytes.data(), bytes.size());
    return {};
  }
};

}  // namespace

const Codec& fp32_codec() {
  static const Fp32Codec codec;
  return codec;
}

}  // namespace godwit
