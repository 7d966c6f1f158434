// Codec: how a block of fp32 becomes bytes. Stateless, const, safe from every thread.
// Decoding is a pure function of the bytes and gives the same floats on every CPU and GPU; it never
// trusts its input. encode(decode(encode(x))) == encode(x) byte for byte.
#pragma once

#include <cstddef>
#include <memory>
#include <span>
#include <string_view>
#include <vector>

#include "shared/base/bytes.h"
#include "shared/base/result.h"
#include "shared/codec/codec_ids.h"

namespace godwit {

class Codec {
 public:
  virtual ~Codec() = default;
  virtual CodecId id() const = 0;
  virtual std::string_view name() const = 0;
  // An upper bound on what encode() writes for `count` values, before zstd.
  virtual std::size_t max_encoded_bytes(std::size_t count) const = 0;
  // Width in bytes of the elements, for the byte planes of the lossless stage.
  virtual std::size_t element_bytes() const = 0;
  // Appends the encoding of finite `values` to `out`.
  virtual void encode(std::span<const float> values, Bytes& out) const = 0;
  // Fills `values` exactly, or fails with kMalformed and leaves them unspecified.
  virtual Result<void> decode(ByteView bytes, std::span<float> values) const = 0;
};

// The explicit list of codecs. Adding one: one file, one line in codec_table.cpp, one in the
// ledger.
class CodecTable {
 public:
  static const CodecTable& standard();
  // Unknown id: kUnsupported.
  Result<const Codec*> find(CodecId id) const;
  std::span<const Codec* const> all() const { return codecs_; }

 private:
  explicit CodecTable(std::vector<const Codec*> codecs) : codecs_(std::move(codecs)) {}
  std::vector<const Codec*> codecs_;
};

// One block through a codec and, if the spec says so, zstd level 1 over its byte planes (a block
// that zstd does not shrink is stored as it is; a leading byte says which). REQUIRES: spec.id is in
// the standard table.
Bytes encode_block(CodecSpec spec, std::span<const float> values);
// Never allocates more than the block needs, whatever the bytes claim. Errors: kUnsupported,
// kMalformed.
Result<void> decode_block(CodecSpec spec, ByteView bytes, std::span<float> values);
// The largest number of bytes that an encoded block of `count` values can have: bound for readers.
// An id outside the table has no payload: 0.
std::size_t max_block_bytes(CodecSpec spec, std::size_t count);

}  // namespace godwit
