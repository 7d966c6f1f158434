// FaultyFileSystem: the disk under a RocksDbStore, on which a test lets one kind of operation on one kind of file
// fail, and which forgets at a crash what was not synced. It does not bother the real disk with any sync, which makes
// it fast. Safe from several threads.
#pragma once

#include <rocksdb/file_system.h>

#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "shared/base/random.h"

namespace godwit {

enum class FileKind : std::uint8_t { kLog, kTable, kManifest, kOther };
enum class FileOperation : std::uint8_t { kAppend, kSync, kRead };

struct Fault {
  FileKind kind;
  FileOperation operation;
  bool no_space = false;  // ENOSPC, else EIO
};

class FaultyFileSystem final : public rocksdb::FileSystemWrapper {
 public:
  FaultyFileSystem() : FileSystemWrapper(rocksdb::FileSystem::Default()) {}
  const char* Name() const override { return "FaultyFileSystem"; }

  // From now on, `after` such operations succeed and all others fail, until heal(). An append that fails has written
  // half of it; a sync that fails has synced nothing.
  void fail(const Fault& fault, std::uint64_t after = 0);
  void heal();
  std::uint64_t failures() const;  // operations failed so far

  // As a power cut does, to be called while no store is open: each file keeps what was synced, and any part of the
  // rest from its start.
  void lose_unsynced(Random& random);

  // For the files.
  rocksdb::IOStatus attempt(FileOperation operation, const std::string& file);
  void on_appended(const std::string& file, std::uint64_t bytes);
  void on_synced(const std::string& file);

  rocksdb::IOStatus NewWritableFile(const std::string& file, const rocksdb::FileOptions& options,
                                    std::unique_ptr<rocksdb::FSWritableFile>* out,
                                    rocksdb::IODebugContext* debug) override;
  rocksdb::IOStatus NewRandomAccessFile(const std::string& file, const rocksdb::FileOptions& options,
                                        std::unique_ptr<rocksdb::FSRandomAccessFile>* out,
                                        rocksdb::IODebugContext* debug) override;
  rocksdb::IOStatus NewDirectory(const std::string& name, const rocksdb::IOOptions& options,
                                 std::unique_ptr<rocksdb::FSDirectory>* out,
                                 rocksdb::IODebugContext* debug) override;
  rocksdb::IOStatus RenameFile(const std::string& from, const std::string& to, const rocksdb::IOOptions& options,
                               rocksdb::IODebugContext* debug) override;

 private:
  struct Extent {
    std::uint64_t written = 0, synced = 0;
  };
  mutable std::mutex mutex_;  // guards all below
  std::optional<Fault> fault_;
  std::uint64_t spared_ = 0;
  std::uint64_t failures_ = 0;
  std::map<std::string, Extent> extents_;  // of the files written since the last crash
};

}  // namespace godwit
