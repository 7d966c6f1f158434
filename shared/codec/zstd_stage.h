// The lossless stage: byte planes, then zstd. Private to shared/codec; stateless, safe from every
// thread. Plane j holds byte j of every element, one plane after the other: exponents lie beside
// exponents, which is what zstd can shrink. Bytes after the last whole element follow the planes as
// they are.
//
// Layout: byte 0 says what follows. 0: the input as it is (zstd would not have shrunk it).
// 1: one zstd frame, with its content size, of the planes.
#pragma once

#include "shared/base/bytes.h"
#include "shared/base/result.h"

namespace godwit {

// At most one byte longer than `encoded`.
Bytes compress_planes(ByteView encoded, std::size_t element_bytes);
// Refuses (kMalformed), before it allocates, whatever claims to be longer than `max_bytes`.
Result<Bytes> decompress_planes(ByteView stage, std::size_t element_bytes, std::size_t max_bytes);

}  // namespace godwit
