#include "server/storage/value_seal.h"

#include <algorithm>

#include "server/storage/family_name.h"
#include "shared/base/checksum.h"

namespace godwit {

Seal seal_of(Family family, ByteView key, ByteView value) {
  const Hash of_key = checksum(key, checksum(view(name(family))).value());
  const Hash of_value = checksum(value, of_key.value());
  Seal seal;
  for (std::size_t i = 0; i < kSealBytes; ++i) {
    seal[i] = static_cast<std::byte>(of_value.value() >> (8 * i));
  }
  return seal;
}

Result<ByteView> unseal(Family family, ByteView key, ByteView stored) {
  if (stored.size() < kSealBytes) {
    return Error{Errc::kCorrupt, describe_key(family, key) + ": " + std::to_string(stored.size()) +
                                     " stored bytes are too few to hold a checksum"};
  }
  const ByteView value = stored.first(stored.size() - kSealBytes);
  if (!std::ranges::equal(seal_of(family, key, value), stored.last(kSealBytes))) {
    return Error{Errc::kCorrupt, describe_key(family, key) + ": the value of " +
                                     std::to_string(value.size()) + " bytes fails its checksum"};
  }
  return value;
}

}  // namespace godwit
