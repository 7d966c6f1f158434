// RawStore: what the disk takes through RocksDB with the server's options: pushes written one after the
// other, each a batch of its blocks with sync, and nothing else.
#pragma once

#include <filesystem>
#include <memory>

#include "server/storage/rocksdb_store.h"

namespace godwit::bench {

class RawStore {
 public:
  static Result<std::unique_ptr<RawStore>> open(const std::filesystem::path& directory);
  // Bytes per second. `values` are written again and again under new keys, for `duration`.
  Result<double> measure(Duration duration, const std::vector<SharedBytes>& values);

 private:
  explicit RawStore(std::unique_ptr<RocksDbStore> store) : store_(std::move(store)) {}
  std::unique_ptr<RocksDbStore> store_;
  std::uint64_t next_key_ = 0;
};

}  // namespace godwit::bench
