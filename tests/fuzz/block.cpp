// Encoded blocks: any bytes under any codec, with and without zstd; and any finite floats.
#include <cstring>

#include "shared/codec/codec.h"
#include "shared/tensor/kernels.h"
#include "tests/fuzz/input.h"
#include "tests/fuzz/targets.h"

namespace godwit::fuzz {
namespace {

constexpr std::size_t kValuesMax = 4096;

// encode(decode(encode(x))) == encode(x), within the bound that readers rely on.
void check_encoding(CodecSpec spec, std::span<const float> values) {
  const Bytes encoded = encode_block(spec, values);
  GODWIT_CHECK(encoded.size() <= max_block_bytes(spec, values.size()), "a block keeps its bound");
  std::vector<float> decoded(values.size());
  GODWIT_CHECK(decode_block(spec, encoded, decoded).has_value(), "our own encoding decodes");
  GODWIT_CHECK(kernels::all_finite(decoded), "finite values stay finite");
  GODWIT_CHECK(encode_block(spec, decoded) == encoded, "encoding again changes nothing");
}

}  // namespace

bool block(ByteView bytes) {
  Input input(bytes);
  const CodecSpec spec = CodecSpec::from_wire(input.number<std::uint8_t>());
  std::vector<float> values(input.number<std::uint16_t>() % (kValuesMax + 1));
  const ByteView encoded = input.rest();
  const Result<void> decoded = decode_block(spec, encoded, values);
  if (!CodecTable::standard().find(spec.id)) {
    GODWIT_CHECK(!decoded && decoded.error().code == Errc::kUnsupported, "unknown is unsupported");
    return false;
  }
  if (decoded && kernels::all_finite(values)) check_encoding(spec, values);

  std::vector<float> floats(std::min(encoded.size() / sizeof(float), kValuesMax));
  if (!floats.empty())
    std::memcpy(floats.data(), encoded.data(), floats.size() * sizeof(float));
  if (kernels::all_finite(floats)) check_encoding(spec, floats);
  return decoded.has_value();
}

}  // namespace godwit::fuzz
