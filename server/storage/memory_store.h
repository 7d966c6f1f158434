// MemoryStore: a Store for simulation that can crash. It behaves as RocksDB's write-ahead log does:
// after a crash the state is that of some prefix of the batches, and the prefix holds every batch
// up to the last synced one. The cost of a crash is that of the batches it takes back (an undo log;
// nothing is copied).
//
// Safe from several threads. A scan's visitor may read, but must not write, the store.
#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <mutex>
#include <optional>
#include <vector>

#include "server/core/store.h"
#include "shared/base/random.h"

namespace godwit {

struct CrashStatistics {
  std::uint64_t crashes = 0;
  std::uint64_t lost_batches = 0;   // written, unsynced, gone
  std::uint64_t torn_batches = 0;   // the part of lost_batches that had reached the disk in part
  std::uint64_t found_batches = 0;  // refused by a failing disk, yet there after the crash
};

class MemoryStore final : public Store {
 public:
  MemoryStore() = default;
  MemoryStore(const MemoryStore&) = delete;
  MemoryStore& operator=(const MemoryStore&) = delete;

  Result<std::optional<Bytes>> get(Family family, ByteView key) const override;
  Result<void> scan(Family family, ByteView begin, ByteView end,
                    const Visitor& visit) const override;
  Result<void> write(const Batch& batch) override;

  // The disk fails: every write from now on is refused with `error`, until the next crash. Whether
  // the first refused batch reached the disk is unknown, as after a failed fsync: it shows after
  // the crash.
  void fail_writes(Error error);

  // Power fails and the store is opened again: a random number of the latest unsynced batches is
  // gone, the last survivor may be torn and is then dropped whole. What is left is durable.
  void crash(Random& random);

  CrashStatistics crash_statistics() const;
  std::size_t unsynced_batches() const;

 private:
  struct KeyLess {
    using is_transparent = void;
    bool operator()(ByteView a, ByteView b) const;
  };
  using Map = std::map<Bytes, SharedBytes, KeyLess>;
  // What one batch replaced, in the order of its writes; a null value: the key was absent.
  struct Replaced {
    Family family;
    Bytes key;
    SharedBytes value;
  };
  using Undo = std::vector<Replaced>;

  const Map& map(Family family) const { return maps_[static_cast<std::size_t>(family)]; }
  Map& map(Family family) { return maps_[static_cast<std::size_t>(family)]; }
  Undo apply(const Batch& batch);
  void replace(Family family, const Bytes& key, const SharedBytes& value, Undo& undo);
  void erase_range(Family family, ByteView begin, ByteView end, Undo& undo);
  void take_back_last();

  mutable std::recursive_mutex mutex_;  // recursive: a visitor may read
  mutable int scans_ = 0;
  std::array<Map, kFamilyCount> maps_;
  std::vector<Undo> unsynced_;  // oldest first
  std::optional<Error> failure_;
  std::optional<Batch> in_doubt_;  // the first batch that a failing disk refused
  CrashStatistics statistics_;
};

}  // namespace godwit
