// Store: the durable key-value map that the core decides about and the shell writes to. The core emits
// Batches and reads through StoreReader; server/storage implements both on RocksDB and in memory.
// Keys are ordered bytewise; numbers in keys are big-endian (server/core/records.h builds them).
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <vector>

#include "shared/base/bytes.h"
#include "shared/base/result.h"

namespace godwit {

// Column families (design section 8). Numbers are not persisted; the names are.
enum class Family : std::uint8_t {
  kLog,       // payload records and commit records
  kInputs,    // contributions as received; leader only, pruned at snapshot
  kOutbox,    // contributions of this region that the watermark does not cover yet; the journal
  kPushes,    // push id, shard -> version, verdict
  kSnapshot,  // shard, id, block -> version, values, momentum
  kMeta,      // manifest, epochs, tables, heads
  kControl,   // the embedded control store (control host only)
};
inline constexpr std::size_t kFamilyCount = 7;

// A write: put, delete of one key, or delete of the range [key, end).
struct Write {
  enum class Kind : std::uint8_t { kPut, kDelete, kDeleteRange };
  Kind kind = Kind::kPut;
  Family family = Family::kMeta;
  Bytes key;
  SharedBytes value;  // kPut
  Bytes end;          // kDeleteRange
};

// Applied whole or not at all, in the order of the calls. When `sync` is set, this batch and every batch
// before it are durable when the call returns.
struct Batch {
  std::vector<Write> writes;
  bool sync = false;

  void put(Family family, Bytes key, SharedBytes value) {
    writes.push_back({Write::Kind::kPut, family, std::move(key), std::move(value), {}});
  }
  void put(Family family, Bytes key, Bytes value) { put(family, std::move(key), share(std::move(value))); }
  void erase(Family family, Bytes key) {
    writes.push_back({Write::Kind::kDelete, family, std::move(key), nullptr, {}});
  }
  void erase_range(Family family, Bytes begin, Bytes end) {
    writes.push_back({Write::Kind::kDeleteRange, family, std::move(begin), nullptr, std::move(end)});
  }
  bool empty() const { return writes.empty(); }
};

class StoreReader {
 public:
  virtual ~StoreReader() = default;
  // kNotFound is not an error: an absent key is nullopt. Errors: kCorrupt, kIo.
  virtual Result<std::optional<Bytes>> get(Family family, ByteView key) const = 0;
  // Visits [begin, end) in key order until the visitor returns false. Errors: kCorrupt, kIo.
  using Visitor = std::function<bool(ByteView key, ByteView value)>;
  virtual Result<void> scan(Family family, ByteView begin, ByteView end, const Visitor& visit) const = 0;
};

// Safe from several threads; batches written from different threads are group-committed.
class Store : public StoreReader {
 public:
  // After an error of a synced write nothing more may be acknowledged: the store refuses all later writes.
  virtual Result<void> write(const Batch& batch) = 0;
};

}  // namespace godwit
