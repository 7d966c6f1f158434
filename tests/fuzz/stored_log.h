// What the stores of two regions hold after some rounds of the real cores: region 0 led; region 1
// followed until it was cut off, and holds pushes that nobody has named.
#pragma once

#include <map>
#include <utility>

#include "server/core/records.h"
#include "server/storage/memory_store.h"
#include "shared/protocol/manifest.h"

namespace godwit::fuzz {

using Records = std::map<std::pair<Family, Bytes>, Bytes>;

// Made once.
const Records& stored_records(std::uint32_t region);
// Of the run's only shard.
const ShardLayout& stored_layout();
void fill(MemoryStore& store, const Records& records);

}  // namespace godwit::fuzz
