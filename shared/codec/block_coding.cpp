// encode_block, decode_block, max_block_bytes: a codec, then the lossless stage if the spec says
// so.
#include "shared/codec/codec.h"
#include "shared/codec/zstd_stage.h"

namespace godwit {

Bytes encode_block(CodecSpec spec, std::span<const float> values) {
  const Result<const Codec*> codec = CodecTable::standard().find(spec.id);
  GODWIT_REQUIRE(codec.has_value(), "a block is encoded with a codec of the table");
  Bytes encoded;
  encoded.reserve((*codec)->max_encoded_bytes(values.size()));
  (*codec)->encode(values, encoded);
  GODWIT_CHECK(encoded.size() <= (*codec)->max_encoded_bytes(values.size()),
               "readers rely on the bound");
  return spec.zstd ? compress_planes(encoded, (*codec)->element_bytes()) : encoded;
}

Result<void> decode_block(CodecSpec spec, ByteView bytes, std::span<float> values) {
  const Result<const Codec*> codec = CodecTable::standard().find(spec.id);
  if (!codec) return codec.error();
  if (!spec.zstd) return (*codec)->decode(bytes, values);
  const Result<Bytes> encoded = decompress_planes(bytes, (*codec)->element_bytes(),
                                                  (*codec)->max_encoded_bytes(values.size()));
  if (!encoded) return encoded.error();
  return (*codec)->decode(*encoded, values);
}

std::size_t max_block_bytes(CodecSpec spec, std::size_t count) {
  const Result<const Codec*> codec = CodecTable::standard().find(spec.id);
  if (!codec) return 0;
  return (*codec)->max_encoded_bytes(count) + (spec.zstd ? 1 : 0);
}

}  // namespace godwit
