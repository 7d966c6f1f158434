// RocksDbStore: the Store of a region server, one data directory, one process at a time. Families
// are column families named by server/storage/family_name.h; every value carries a seal
// (value_seal.h).
//
// Durability: the write-ahead log is always on; a synced batch is on disk (fdatasync) when write()
// returns. After any failed write, flush or compaction the store is read-only for good: all later
// writes return the first error, since nobody knows what the disk holds; a restart finds out.
//
// Safe from several threads. Never fork after open(): RocksDB's threads would not exist in the
// child.
#pragma once

#include <array>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <memory>

#include "server/core/store.h"
#include "shared/base/time.h"

namespace rocksdb {
class FileSystem;
}

namespace godwit {

enum class IfMissing : std::uint8_t { kCreate, kFail };

// What open() does when the write-ahead log is damaged before its end. A torn end is no damage: it
// is what a crash leaves of a batch that was never acknowledged, and it is dropped whole.
enum class DamagedLog : std::uint8_t {
  kRefuse,      // kCorrupt; nothing is changed
  kKeepPrefix,  // keep what precedes the damage, lose what follows, acknowledged or not
};

struct RocksDbOptions {
  IfMissing if_missing = IfMissing::kCreate;
  DamagedLog damaged_log = DamagedLog::kRefuse;
  // Above this the oldest memtables are flushed. Bounds the disk used and the time that a restart
  // replays (about 0.5 s per 100 MiB).
  std::uint64_t write_ahead_log_bytes = 256ULL << 20U;
  // Unflushed writes in memory, all families together.
  std::uint64_t memtable_bytes = 256ULL << 20U;
  std::uint64_t block_cache_bytes = 32ULL << 20U;
  // False: tables are left as they are until resume_compactions(): a compaction that meets damage ends the store.
  bool compact = true;
  // Called after each sync of the write-ahead log with its duration, on the thread that wrote. Must
  // be quick, thread-safe and not call the store.
  std::function<void(Duration)> on_log_sync = nullptr;
  // Called once, when the store begins to refuse writes, on the thread that found out; it may be one
  // of RocksDB's. Must be quick, thread-safe and not call the store.
  std::function<void(const Error&)> on_failure = nullptr;
  // For tests, which let it fail; null: the operating system's.
  std::shared_ptr<rocksdb::FileSystem> file_system = nullptr;
};

struct DiskUsage {
  std::array<std::uint64_t, kFamilyCount> family_bytes{};  // table files, indexed by Family
  std::uint64_t write_ahead_log_bytes = 0;
};

class RocksDbStore final : public Store {
 public:
  // Errors: kUnavailable another process holds the directory; kNotFound with IfMissing::kFail;
  // kConfig not a directory, no permission, or not a Godwit store; kCorrupt names the damaged file;
  // kIo.
  static Result<std::unique_ptr<RocksDbStore>> open(const std::filesystem::path& directory,
                                                    const RocksDbOptions& options = {});

  ~RocksDbStore() override;
  RocksDbStore(const RocksDbStore&) = delete;
  RocksDbStore& operator=(const RocksDbStore&) = delete;

  Result<std::optional<Bytes>> get(Family family, ByteView key) const override;
  Result<void> scan(Family family, ByteView begin, ByteView end,
                    const Visitor& visit) const override;
  Result<void> write(const Batch& batch) override;

  // Reads every block of the family's tables, also what was overwritten since. Errors: kCorrupt names the file; kIo.
  Result<void> verify(Family family) const;
  // Empties a family without reading it: also one whose tables are damaged.
  // REQUIRES: nobody else uses the family meanwhile.
  Result<void> clear(Family family);
  // For a store that was opened without.
  Result<void> resume_compactions();

  // Moves all unflushed writes into table files. For tests and benches; the store flushes by
  // itself.
  Result<void> flush();

  DiskUsage disk_usage() const;

 private:
  struct Impl;
  explicit RocksDbStore(std::unique_ptr<Impl> impl);
  std::unique_ptr<Impl> impl_;
};

}  // namespace godwit
