#include "shared/base/checksum.h"

#include <xxhash.h>

namespace godwit {

Hash checksum(ByteView bytes, std::uint64_t seed) {
  return Hash(XXH3_64bits_withSeed(bytes.data(), bytes.size(), seed));
}

}  // namespace godwit
