// The end of RocksDB's write-ahead log and MANIFEST, which share a format: blocks of 32 KiB filled with records.
// RocksDB takes a record in the last block that claims to reach beyond the end of the file for one that a crash cut
// short, and drops it with all that follows. Where whole records follow, no crash has done that.
#pragma once

#include <cstddef>
#include <optional>

#include "shared/base/bytes.h"

namespace godwit {

inline constexpr std::size_t kLogBlockBytes = 32U << 10U;

// The offset in `block`, the last one of such a file, of a record that claims to be cut short although whole ones
// follow; nullopt: none. A damaged length in the very last record is not found: that is what a crash looks like.
std::optional<std::size_t> hidden_by_damage(ByteView block);

}  // namespace godwit
