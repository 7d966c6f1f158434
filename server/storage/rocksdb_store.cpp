#include "server/storage/rocksdb_store.h"

#include <fcntl.h>
#include <rocksdb/db.h>
#include <rocksdb/env.h>
#include <rocksdb/file_system.h>
#include <rocksdb/filter_policy.h>
#include <rocksdb/listener.h>
#include <rocksdb/sst_file_reader.h>
#include <rocksdb/table.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <fstream>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

#include "server/storage/family_name.h"
#include "server/storage/log_tail.h"
#include "server/storage/value_seal.h"

namespace godwit {
namespace {

// What an open writes beside the tables: MANIFEST, OPTIONS, LOG.
constexpr std::uintmax_t kStartBytes = 1U << 20U;

using Handles = std::array<rocksdb::ColumnFamilyHandle*, kFamilyCount>;

rocksdb::Slice slice(ByteView bytes) { return rocksdb::Slice(text(bytes).data(), bytes.size()); }
ByteView bytes_of(const rocksdb::Slice& slice) {
  return view(std::string_view(slice.data(), slice.size()));
}
std::size_t index_of(Family family) { return static_cast<std::size_t>(family); }
bool is_empty_range(ByteView begin, ByteView end) { return text(begin) >= text(end); }

Error error_of(const rocksdb::Status& status, const std::string& what) {
  const Errc code = status.IsCorruption() ? Errc::kCorrupt : Errc::kIo;
  const std::string fix = status.IsNoSpace() ? " (the disk is full: free space, then restart)" : "";
  return Error{code, what + ": " + status.ToString() + fix};
}

// Reports the duration of every sync of the write-ahead log.
class LogSyncListener final : public rocksdb::EventListener {
 public:
  explicit LogSyncListener(std::function<void(Duration)> on_log_sync)
      : on_log_sync_(std::move(on_log_sync)) {}
  bool ShouldBeNotifiedOnFileIO() override { return true; }
  void OnFileSyncFinish(const rocksdb::FileOperationInfo& info) override {
    if (info.path.ends_with(".log")) on_log_sync_(info.duration);
  }

 private:
  std::function<void(Duration)> on_log_sync_;
};

// The first error, which all later writes return.
class Latch {
 public:
  explicit Latch(std::function<void(const Error&)> on_failure)
      : on_failure_(std::move(on_failure)) {}

  // What to answer a write with; nullopt: nothing has failed.
  std::optional<Error> error() const {
    if (!failed_.load(std::memory_order_acquire)) return std::nullopt;
    const std::lock_guard lock(mutex_);
    return first_;
  }
  Error fail(Error error) {
    {
      const std::lock_guard lock(mutex_);
      if (first_) return *first_;
      error.context += "; the store refuses all writes until the server restarts";
      first_ = error;
      failed_.store(true, std::memory_order_release);
    }
    if (on_failure_) on_failure_(error);
    return error;
  }

 private:
  std::function<void(const Error&)> on_failure_;
  std::atomic<bool> failed_{false};
  mutable std::mutex mutex_;  // guards first_
  std::optional<Error> first_;
};

// What fails in the background fails the store: RocksDB itself goes on after some of it.
class BackgroundErrorListener final : public rocksdb::EventListener {
 public:
  explicit BackgroundErrorListener(std::shared_ptr<Latch> latch) : latch_(std::move(latch)) {}
  void OnBackgroundError(rocksdb::BackgroundErrorReason reason, rocksdb::Status* status) override {
    using Reason = rocksdb::BackgroundErrorReason;
    // The writer has these, and knows what it wrote.
    if (reason == Reason::kWriteCallback || reason == Reason::kMemTable) return;
    const bool compaction = reason == Reason::kCompaction;
    latch_->fail(error_of(*status, compaction ? "compaction" : "flush"));
  }

 private:
  std::shared_ptr<Latch> latch_;
};

// Payload families hold values of up to 1 MiB that are compressed already.
bool is_payload(Family family) {
  return family == Family::kLog || family == Family::kInputs || family == Family::kOutbox ||
         family == Family::kSnapshot;
}

rocksdb::ColumnFamilyOptions family_options(Family family, bool compact,
                                            const std::shared_ptr<rocksdb::Cache>& cache) {
  rocksdb::BlockBasedTableOptions table;
  table.block_cache = cache;
  rocksdb::ColumnFamilyOptions options;
  options.max_write_buffer_number = 2;
  options.disable_auto_compactions = !compact;
  if (is_payload(family)) {
    table.block_size = 64U << 10U;
    options.write_buffer_size = 64U << 20U;
    options.compaction_style = rocksdb::kCompactionStyleUniversal;
    options.compression = rocksdb::kNoCompression;
  } else {
    table.filter_policy.reset(rocksdb::NewBloomFilterPolicy(10));
    options.write_buffer_size = 8U << 20U;
    options.compression = rocksdb::kLZ4Compression;
  }
  options.table_factory.reset(rocksdb::NewBlockBasedTableFactory(table));
  return options;
}

rocksdb::DBOptions database_options(const RocksDbOptions& options,
                                    const std::shared_ptr<Latch>& latch, rocksdb::Env* env) {
  rocksdb::DBOptions out;
  if (env != nullptr) out.env = env;
  out.create_if_missing = options.if_missing == IfMissing::kCreate;
  out.create_missing_column_families = true;
  out.paranoid_checks = true;
  // Both as small as they go: RocksDB 7.8 reorders flushes that it retries in parallel.
  out.max_background_jobs = 2;
  out.max_bgerror_resume_count = 0;
  out.max_total_wal_size = options.write_ahead_log_bytes;
  out.db_write_buffer_size = options.memtable_bytes;
  out.wal_recovery_mode = options.damaged_log == DamagedLog::kRefuse
                              ? rocksdb::WALRecoveryMode::kTolerateCorruptedTailRecords
                              : rocksdb::WALRecoveryMode::kPointInTimeRecovery;
  out.bytes_per_sync = 1U << 20U;
  out.max_open_files = 512;
  out.info_log_level = rocksdb::WARN_LEVEL;
  out.max_log_file_size = 1U << 20U;
  out.keep_log_file_num = 2;
  out.stats_dump_period_sec = 0;
  out.stats_persist_period_sec = 0;
  out.listeners.push_back(std::make_shared<BackgroundErrorListener>(latch));
  if (options.on_log_sync) {
    out.listeners.push_back(std::make_shared<LogSyncListener>(options.on_log_sync));
  }
  return out;
}

// Everything that can be said before RocksDB is asked, in words that name the fix.
Result<void> prepare_directory(const std::filesystem::path& directory, IfMissing if_missing) {
  std::error_code error;
  const std::string path = "data directory " + directory.string();
  const auto status = std::filesystem::status(directory, error);
  if (!std::filesystem::exists(status)) {
    if (if_missing == IfMissing::kFail) {
      return Error{Errc::kNotFound,
                   path + " does not exist: start the server once, or check the path"};
    }
    std::filesystem::create_directories(directory, error);
    if (error) {
      return Error{Errc::kConfig, path + " cannot be created: " + error.message() +
                                      "; create it, or choose a path that this user may write"};
    }
  } else if (!std::filesystem::is_directory(status)) {
    return Error{Errc::kConfig,
                 path + " is not a directory: move the file away, or choose another path"};
  }
  if (::faccessat(AT_FDCWD, directory.c_str(), R_OK | W_OK | X_OK, AT_EACCESS) != 0) {
    return Error{Errc::kConfig,
                 path + " is closed to this user: change its owner, or run as the user " +
                     "that created it"};
  }
  if (if_missing == IfMissing::kFail && !std::filesystem::exists(directory / "CURRENT", error)) {
    return Error{Errc::kNotFound,
                 path + " holds no store: start the server once, or check the path"};
  }
  return {};
}

Error damaged(const std::filesystem::path& directory, const std::string& reason) {
  return Error{Errc::kCorrupt,
               "data directory " + directory.string() + " is damaged: " + reason +
                   ". Move it away and start this server again: it reloads from the other regions, and what only "
                   "this region held (pushes that it had not sent yet) is lost; with a single region, the run"};
}

std::vector<std::filesystem::path> files_in(const std::filesystem::path& directory, std::string_view extension) {
  std::vector<std::filesystem::path> files;
  std::error_code error;
  for (const auto& entry : std::filesystem::directory_iterator(directory, error)) {
    if (entry.path().extension() == extension) files.push_back(entry.path());
  }
  std::sort(files.begin(), files.end());
  return files;
}

// Of what RocksDB refuses as damaged: the files that it does not name, or not rightly.
std::string unnamed_files(const std::filesystem::path& directory, const std::string& reason) {
  std::string names;
  for (const auto& file : files_in(directory, ".sst")) {
    rocksdb::SstFileReader reader{rocksdb::Options()};
    if (reader.Open(file.string()).ok() || reason.find(file.filename().string()) != std::string::npos) continue;
    names += (names.empty() ? "" : ", ") + file.filename().string();
  }
  if (!names.empty()) return " (table file " + names + ")";
  if (reason.find(directory.string()) != std::string::npos || reason.find("CURRENT") != std::string::npos) return "";
  for (const auto& file : files_in(directory, ".log"))
    names += (names.empty() ? "" : " or ") + file.filename().string();
  return " in the write-ahead log " + names;
}

// RocksDB begins with new files and moves its log into tables; where there is no room for that, it may abort.
Result<void> check_space(const std::filesystem::path& directory) {
  std::uintmax_t needed = kStartBytes;
  std::error_code error;
  for (const auto& file : files_in(directory, ".log")) needed += std::filesystem::file_size(file, error);
  const auto space = std::filesystem::space(directory, error);
  if (error || space.available >= needed) return {};
  return Error{Errc::kIo, "data directory " + directory.string() + ": the disk is full: free space, then restart (" +
                              std::to_string(space.available) + " bytes are free, a start needs " +
                              std::to_string(needed) + ")"};
}

// Records that RocksDB would drop without a word.
Result<void> check_log_tails(const std::filesystem::path& directory) {
  std::vector<std::filesystem::path> files = files_in(directory, ".log");
  std::string manifest;
  std::getline(std::ifstream(directory / "CURRENT"), manifest);
  files.push_back(directory / manifest);
  for (const auto& file : files) {
    std::error_code error;
    const std::uintmax_t size = std::filesystem::file_size(file, error);
    if (error || size == 0) continue;  // open() names what is wrong
    const std::uintmax_t start = (size - 1) / kLogBlockBytes * kLogBlockBytes;
    std::ifstream in(file, std::ios::binary);
    std::string block(size - start, '\0');
    in.seekg(static_cast<std::streamoff>(start));
    if (!in.read(block.data(), static_cast<std::streamsize>(block.size()))) continue;
    if (const auto at = hidden_by_damage(view(block)))
      return damaged(directory, "a record has a wrong length in file " + file.string() + " at offset " +
                                    std::to_string(start + *at));
  }
  return {};
}

Error open_error(const rocksdb::Status& status, const std::filesystem::path& directory) {
  const std::string path = "data directory " + directory.string();
  const std::string reason = status.ToString();
  const bool lock = reason.find("While lock file") != std::string::npos ||
                    reason.find("lock hold by current process") != std::string::npos;
  if (lock) {
    return Error{Errc::kUnavailable, "another godwit-server runs on " + path +
                                         ": stop it, or choose another directory"};
  }
  if (reason.find("Permission denied") != std::string::npos) {
    return Error{Errc::kConfig, path + " holds files that this user may not read or write (" +
                                    reason + "): change their owner"};
  }
  if (status.IsInvalidArgument()) {
    return Error{Errc::kConfig, path +
                                    " holds another program's store, or one of a newer Godwit (" +
                                    reason + "): choose another directory"};
  }
  if (status.IsCorruption()) return damaged(directory, reason + unnamed_files(directory, reason));
  if (status.IsPathNotFound()) return damaged(directory, reason);
  return error_of(status, path);
}

}  // namespace

struct RocksDbStore::Impl {
  std::shared_ptr<Latch> latch;
  std::unique_ptr<rocksdb::Env> env;  // null: the default one
  std::unique_ptr<rocksdb::DB> database;
  std::vector<rocksdb::ColumnFamilyHandle*> owned;  // "default" first, then kFamilies
  Handles handles{};

  ~Impl() {
    for (auto* handle : owned) database->DestroyColumnFamilyHandle(handle);
  }
  rocksdb::ColumnFamilyHandle* handle(Family family) const { return handles[index_of(family)]; }

  Result<void> write(rocksdb::WriteBatch& batch, bool sync, const std::string& what);

  static Result<std::unique_ptr<Impl>> open(const std::filesystem::path& directory,
                                            const RocksDbOptions& options);
};

Result<std::unique_ptr<RocksDbStore::Impl>> RocksDbStore::Impl::open(
    const std::filesystem::path& directory, const RocksDbOptions& options) {
  const auto cache = rocksdb::NewLRUCache(options.block_cache_bytes);
  std::vector<rocksdb::ColumnFamilyDescriptor> families;
  families.emplace_back(rocksdb::kDefaultColumnFamilyName, rocksdb::ColumnFamilyOptions());
  for (const Family family : kFamilies) {
    families.emplace_back(std::string(name(family)), family_options(family, options.compact, cache));
  }
  auto impl = std::make_unique<Impl>();
  impl->latch = std::make_shared<Latch>(options.on_failure);
  if (options.file_system) impl->env = rocksdb::NewCompositeEnv(options.file_system);
  rocksdb::DB* database = nullptr;
  const rocksdb::Status status =
      rocksdb::DB::Open(database_options(options, impl->latch, impl->env.get()), directory.string(),
                        families, &impl->owned, &database);
  impl->database.reset(database);
  if (!status.ok()) return open_error(status, directory);
  for (std::size_t i = 0; i < kFamilies.size(); ++i) {
    impl->handles[index_of(kFamilies[i])] = impl->owned[i + 1];
  }
  return impl;
}

Result<void> RocksDbStore::Impl::write(rocksdb::WriteBatch& batch, bool sync,
                                       const std::string& what) {
  if (std::optional<Error> error = latch->error()) return std::move(*error);
  rocksdb::WriteOptions options;
  options.sync = sync;
  const rocksdb::Status status = database->Write(options, &batch);
  if (!status.ok()) return latch->fail(error_of(status, what));
  return {};
}

RocksDbStore::RocksDbStore(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}
RocksDbStore::~RocksDbStore() = default;

Result<std::unique_ptr<RocksDbStore>> RocksDbStore::open(const std::filesystem::path& directory,
                                                         const RocksDbOptions& options) {
  auto prepared = prepare_directory(directory, options.if_missing);
  if (!prepared) return prepared.error();
  if (auto fits = check_space(directory); !fits) return fits.error();
  if (options.damaged_log == DamagedLog::kRefuse) {
    if (auto whole = check_log_tails(directory); !whole) return whole.error();
  }
  auto impl = Impl::open(directory, options);
  if (!impl) return impl.error();
  return std::unique_ptr<RocksDbStore>(new RocksDbStore(std::move(*impl)));
}

Result<std::optional<Bytes>> RocksDbStore::get(Family family, ByteView key) const {
  rocksdb::PinnableSlice stored;
  const rocksdb::Status status =
      impl_->database->Get(rocksdb::ReadOptions(), impl_->handle(family), slice(key), &stored);
  if (status.IsNotFound()) return std::optional<Bytes>();
  if (!status.ok()) return error_of(status, describe_key(family, key));
  auto value = unseal(family, key, bytes_of(stored));
  if (!value) return value.error();
  return std::optional<Bytes>(copy(*value));
}

Result<void> RocksDbStore::scan(Family family, ByteView begin, ByteView end,
                                const Visitor& visit) const {
  if (is_empty_range(begin, end)) return {};
  const rocksdb::Slice upper_bound = slice(end);
  rocksdb::ReadOptions options;
  options.iterate_upper_bound = &upper_bound;
  options.fill_cache = false;
  const std::unique_ptr<rocksdb::Iterator> at(
      impl_->database->NewIterator(options, impl_->handle(family)));
  Bytes last_key = copy(begin);
  for (at->Seek(slice(begin)); at->Valid(); at->Next()) {
    const ByteView key = bytes_of(at->key());
    auto value = unseal(family, key, bytes_of(at->value()));
    if (!value) return value.error();
    if (!visit(key, *value)) return {};
    last_key.assign(key.begin(), key.end());
  }
  if (!at->status().ok()) return error_of(at->status(), "after " + describe_key(family, last_key));
  return {};
}

Result<void> RocksDbStore::write(const Batch& batch) {
  std::size_t payload_bytes = 0;
  for (const Write& write : batch.writes)
    payload_bytes += write.key.size() + view(write.value).size() + 64;
  rocksdb::WriteBatch out(payload_bytes);
  for (const Write& write : batch.writes) {
    rocksdb::ColumnFamilyHandle* const handle = impl_->handle(write.family);
    rocksdb::Status status;
    switch (write.kind) {
      case Write::Kind::kPut: {
        const Seal seal = seal_of(write.family, write.key, view(write.value));
        const rocksdb::Slice key = slice(write.key);
        const std::array value = {slice(view(write.value)), slice(seal)};
        status = out.Put(handle, rocksdb::SliceParts(&key, 1),
                         rocksdb::SliceParts(value.data(), static_cast<int>(value.size())));
        break;
      }
      case Write::Kind::kDelete:
        status = out.Delete(handle, slice(write.key));
        break;
      case Write::Kind::kDeleteRange:
        if (!is_empty_range(write.key, write.end)) {
          status = out.DeleteRange(handle, slice(write.key), slice(write.end));
        }
        break;
    }
    if (!status.ok()) return impl_->latch->fail(error_of(status, describe_key(write.family, write.key)));
  }
  return impl_->write(out, batch.sync, batch.sync ? "synced write" : "write");
}

Result<void> RocksDbStore::verify(Family family) const {
  std::vector<rocksdb::LiveFileMetaData> files;
  impl_->database->GetLiveFilesMetaData(&files);
  rocksdb::Options options;
  if (impl_->env) options.env = impl_->env.get();
  for (const rocksdb::LiveFileMetaData& file : files) {
    if (file.column_family_name != name(family)) continue;
    rocksdb::SstFileReader reader(options);
    const std::string path = file.db_path + file.name;
    rocksdb::Status status = reader.Open(path);
    if (status.ok()) status = reader.VerifyChecksum();
    if (!status.ok()) return error_of(status, path);
  }
  return {};
}

Result<void> RocksDbStore::clear(Family family) {
  if (std::optional<Error> error = impl_->latch->error()) return std::move(*error);
  rocksdb::ColumnFamilyHandle*& handle = impl_->handles[index_of(family)];
  const auto owned = std::find(impl_->owned.begin(), impl_->owned.end(), handle);
  rocksdb::ColumnFamilyDescriptor descriptor;
  rocksdb::Status status = handle->GetDescriptor(&descriptor);
  // A crash in between is mended by the next open, which makes the families that are missing.
  if (status.ok()) status = impl_->database->DropColumnFamily(handle);
  if (status.ok()) status = impl_->database->DestroyColumnFamilyHandle(std::exchange(handle, nullptr));
  if (status.ok()) status = impl_->database->CreateColumnFamily(descriptor.options, descriptor.name, &handle);
  *owned = handle;
  if (!status.ok()) return impl_->latch->fail(error_of(status, "empty the family " + std::string(name(family))));
  return {};
}

Result<void> RocksDbStore::resume_compactions() {
  const rocksdb::Status status =
      impl_->database->EnableAutoCompaction({impl_->handles.begin(), impl_->handles.end()});
  if (!status.ok()) return impl_->latch->fail(error_of(status, "resume compactions"));
  return {};
}

Result<void> RocksDbStore::flush() {
  std::vector<rocksdb::ColumnFamilyHandle*> all(impl_->handles.begin(), impl_->handles.end());
  const rocksdb::Status status = impl_->database->Flush(rocksdb::FlushOptions(), all);
  if (!status.ok()) return error_of(status, "flush");
  return {};
}

DiskUsage RocksDbStore::disk_usage() const {
  DiskUsage usage;
  for (const Family family : kFamilies) {
    impl_->database->GetIntProperty(impl_->handle(family),
                                    rocksdb::DB::Properties::kTotalSstFilesSize,
                                    &usage.family_bytes[index_of(family)]);
  }
  rocksdb::VectorLogPtr logs;
  if (impl_->database->GetSortedWalFiles(logs).ok()) {
    for (const auto& log : logs) usage.write_ahead_log_bytes += log->SizeFileBytes();
  }
  return usage;
}

}  // namespace godwit
