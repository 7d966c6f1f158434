#include "tests/unit/storage/faulty_file_system.h"

#include <filesystem>

namespace godwit {
namespace {

using rocksdb::IODebugContext;
using rocksdb::IOOptions;
using rocksdb::IOStatus;
using rocksdb::Slice;

FileKind kind_of(const std::string& file) {
  const std::filesystem::path path(file);
  if (path.extension() == ".log") return FileKind::kLog;
  if (path.extension() == ".sst") return FileKind::kTable;
  if (path.filename().string().starts_with("MANIFEST-")) return FileKind::kManifest;
  return FileKind::kOther;
}

class FaultyWritableFile final : public rocksdb::FSWritableFileOwnerWrapper {
 public:
  FaultyWritableFile(std::unique_ptr<rocksdb::FSWritableFile>&& file, FaultyFileSystem& disk, std::string name)
      : FSWritableFileOwnerWrapper(std::move(file)), disk_(disk), name_(std::move(name)) {}

  IOStatus Append(const Slice& data, const IOOptions& options, IODebugContext* debug) override {
    const IOStatus attempted = disk_.attempt(FileOperation::kAppend, name_);
    const Slice part(data.data(), attempted.ok() ? data.size() : data.size() / 2);
    IOStatus appended = target()->Append(part, options, debug);
    disk_.on_appended(name_, part.size());
    return attempted.ok() ? appended : attempted;
  }
  IOStatus RangeSync(std::uint64_t /*offset*/, std::uint64_t /*count*/, const IOOptions& /*options*/,
                     IODebugContext* /*debug*/) override {
    return IOStatus::OK();
  }
  IOStatus Append(const Slice& data, const IOOptions& options, const rocksdb::DataVerificationInfo& /*info*/,
                  IODebugContext* debug) override {
    return Append(data, options, debug);
  }
  IOStatus Sync(const IOOptions& /*options*/, IODebugContext* /*debug*/) override {
    IOStatus attempted = disk_.attempt(FileOperation::kSync, name_);
    if (attempted.ok()) disk_.on_synced(name_);
    return attempted;
  }
  IOStatus Fsync(const IOOptions& options, IODebugContext* debug) override { return Sync(options, debug); }

 private:
  FaultyFileSystem& disk_;
  std::string name_;
};

class UnsyncedDirectory final : public rocksdb::FSDirectoryWrapper {
 public:
  explicit UnsyncedDirectory(std::unique_ptr<rocksdb::FSDirectory>&& directory)
      : FSDirectoryWrapper(std::move(directory)) {}
  IOStatus Fsync(const IOOptions& /*options*/, IODebugContext* /*debug*/) override { return IOStatus::OK(); }
  IOStatus FsyncWithDirOptions(const IOOptions& /*options*/, IODebugContext* /*debug*/,
                               const rocksdb::DirFsyncOptions& /*how*/) override {
    return IOStatus::OK();
  }
};

class FaultyReadableFile final : public rocksdb::FSRandomAccessFileOwnerWrapper {
 public:
  FaultyReadableFile(std::unique_ptr<rocksdb::FSRandomAccessFile>&& file, FaultyFileSystem& disk, std::string name)
      : FSRandomAccessFileOwnerWrapper(std::move(file)), disk_(disk), name_(std::move(name)) {}

  IOStatus Read(std::uint64_t offset, std::size_t count, const IOOptions& options, Slice* out, char* scratch,
                IODebugContext* debug) const override {
    IOStatus attempted = disk_.attempt(FileOperation::kRead, name_);
    return attempted.ok() ? target()->Read(offset, count, options, out, scratch, debug) : attempted;
  }

 private:
  FaultyFileSystem& disk_;
  std::string name_;
};

}  // namespace

void FaultyFileSystem::fail(const Fault& fault, std::uint64_t after) {
  const std::lock_guard lock(mutex_);
  fault_ = fault;
  spared_ = after;
}

void FaultyFileSystem::heal() {
  const std::lock_guard lock(mutex_);
  fault_.reset();
}

std::uint64_t FaultyFileSystem::failures() const {
  const std::lock_guard lock(mutex_);
  return failures_;
}

void FaultyFileSystem::lose_unsynced(Random& random) {
  const std::lock_guard lock(mutex_);
  for (const auto& [file, extent] : extents_) {
    if (extent.written == extent.synced || !std::filesystem::exists(file)) continue;
    std::filesystem::resize_file(file, extent.synced + random.below(extent.written - extent.synced + 1));
  }
  extents_.clear();
}

IOStatus FaultyFileSystem::attempt(FileOperation operation, const std::string& file) {
  const std::lock_guard lock(mutex_);
  if (!fault_ || fault_->operation != operation || fault_->kind != kind_of(file)) return IOStatus::OK();
  if (spared_ > 0) {
    --spared_;
    return IOStatus::OK();
  }
  ++failures_;
  return fault_->no_space ? IOStatus::NoSpace(file, "No space left on device")
                          : IOStatus::IOError(file, "Input/output error");
}

void FaultyFileSystem::on_appended(const std::string& file, std::uint64_t bytes) {
  const std::lock_guard lock(mutex_);
  extents_[file].written += bytes;
}

void FaultyFileSystem::on_synced(const std::string& file) {
  const std::lock_guard lock(mutex_);
  Extent& extent = extents_[file];
  extent.synced = extent.written;
}

IOStatus FaultyFileSystem::NewWritableFile(const std::string& file, const rocksdb::FileOptions& options,
                                           std::unique_ptr<rocksdb::FSWritableFile>* out, IODebugContext* debug) {
  IOStatus made = target()->NewWritableFile(file, options, out, debug);
  if (!made.ok()) return made;
  {
    const std::lock_guard lock(mutex_);
    extents_[file] = {};
  }
  *out = std::make_unique<FaultyWritableFile>(std::move(*out), *this, file);
  return made;
}

IOStatus FaultyFileSystem::NewRandomAccessFile(const std::string& file, const rocksdb::FileOptions& options,
                                               std::unique_ptr<rocksdb::FSRandomAccessFile>* out,
                                               IODebugContext* debug) {
  IOStatus made = target()->NewRandomAccessFile(file, options, out, debug);
  if (made.ok()) *out = std::make_unique<FaultyReadableFile>(std::move(*out), *this, file);
  return made;
}

IOStatus FaultyFileSystem::NewDirectory(const std::string& name, const IOOptions& options,
                                        std::unique_ptr<rocksdb::FSDirectory>* out, IODebugContext* debug) {
  IOStatus made = target()->NewDirectory(name, options, out, debug);
  if (made.ok()) *out = std::make_unique<UnsyncedDirectory>(std::move(*out));
  return made;
}

IOStatus FaultyFileSystem::RenameFile(const std::string& from, const std::string& to, const IOOptions& options,
                                      IODebugContext* debug) {
  IOStatus renamed = target()->RenameFile(from, to, options, debug);
  const std::lock_guard lock(mutex_);
  if (auto node = extents_.extract(from); renamed.ok() && !node.empty()) {
    node.key() = to;
    extents_.erase(to);
    extents_.insert(std::move(node));
  }
  return renamed;
}

}  // namespace godwit
