// Every value on disk ends in a seal: 8 bytes, little-endian XXH3-64 of the value, seeded with its
// family's name and its key. RocksDB checks blocks and log records; the seal also finds what
// happens between them (memory, a value filed under another key). It detects damage, not malice.
#pragma once

#include <array>

#include "server/core/store.h"

namespace godwit {

inline constexpr std::size_t kSealBytes = 8;
using Seal = std::array<std::byte, kSealBytes>;

Seal seal_of(Family family, ByteView key, ByteView value);

// The value inside `stored` (value + seal), a view into it. kCorrupt names family and key.
Result<ByteView> unseal(Family family, ByteView key, ByteView stored);

}  // namespace godwit
