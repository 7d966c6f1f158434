// XXH3-64 of bytes: detects damage, not malice (the peers are authenticated by TLS).
#pragma once

#include "shared/base/bytes.h"
#include "shared/base/strong_id.h"

namespace godwit {

Hash checksum(ByteView bytes, std::uint64_t seed = 0);

}  // namespace godwit
