#include "server/cli/offline_reader.h"

#include <fcntl.h>
#include <rocksdb/db.h>
#include <unistd.h>

#include <algorithm>
#include <cstring>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "shared/base/checksum.h"
#include "shared/tensor/kernels.h"

namespace godwit::cli {
namespace {

constexpr std::size_t kSealBytes = 8;
constexpr std::size_t kCommitKeyBytes = 13;   // shard u32, version u64, 1
constexpr std::size_t kPayloadKeyBytes = 17;  // shard u32, version u64, 0, block u32
constexpr std::size_t kPushKeyBytes = 28;    // shard u32, worker u64, incarnation u64, sequence u64
constexpr std::size_t kOutboxKeyBytes = 13;  // shard u32, 0, sequence u64
constexpr std::size_t kSnapshotKeyBytes = 16;  // shard u32, id u64, block u32
constexpr std::size_t kShardMetaKeyBytes = 5;   // tag, shard u32

// Reads the big-endian numbers of keys, front to back.
class KeyReader {
 public:
  explicit KeyReader(ByteView key) : key_(key) {}
  template <class Number>
  Number get() {
    std::uint64_t value = 0;
    for (std::size_t i = 0; i < sizeof(Number); ++i)
      value = value << 8U | std::to_integer<std::uint64_t>(key_[i]);
    key_ = key_.subspan(sizeof(Number));
    return static_cast<Number>(value);
  }

 private:
  ByteView key_;
};

ByteView bytes_of(const rocksdb::Slice& slice) {
  return view(std::string_view(slice.data(), slice.size()));
}

// Value, then 8 bytes: XXH3-64 of the value, seeded by that of the key, seeded by that of the
// family's name.
std::optional<ByteView> without_seal(std::string_view family, ByteView key, ByteView stored) {
  if (stored.size() < kSealBytes) return std::nullopt;
  const ByteView value = stored.first(stored.size() - kSealBytes);
  const Hash seed = checksum(key, checksum(view(family)).value());
  ByteReader seal(stored.last(kSealBytes));
  if (seal.get<std::uint64_t>() != checksum(value, seed.value()).value()) return std::nullopt;
  return value;
}

// RocksDB locks a file of this name while it has the directory open for writing.
bool is_locked(const std::filesystem::path& directory) {
  const int file = ::open((directory / "LOCK").c_str(), O_RDWR | O_CLOEXEC);
  if (file < 0) return false;
  struct flock lock {};
  lock.l_type = F_WRLCK;
  lock.l_whence = SEEK_SET;
  const bool locked = ::fcntl(file, F_GETLK, &lock) == 0 && lock.l_type != F_UNLCK;
  ::close(file);
  return locked;
}

class OpenStore {
 public:
  static Result<std::unique_ptr<OpenStore>> open(const std::filesystem::path& directory);
  ~OpenStore() {
    for (auto* handle : handles_) database_->DestroyColumnFamilyHandle(handle);
  }
  OpenStore(const OpenStore&) = delete;
  OpenStore& operator=(const OpenStore&) = delete;

  // Every record of a family in key order, its seal checked and taken off.
  Result<void> scan(const std::string& family, StoreVisitor& visitor,
                    const std::function<void(ByteView key, ByteView value)>& visit) const;

 private:
  OpenStore() = default;
  std::unique_ptr<rocksdb::DB> database_;
  std::vector<rocksdb::ColumnFamilyHandle*> handles_;
};

Result<std::unique_ptr<OpenStore>> OpenStore::open(const std::filesystem::path& directory) {
  std::error_code error;
  if (!std::filesystem::exists(directory / "CURRENT", error)) {
    return Error{Errc::kNotFound, directory.string() + " holds no store"};
  }
  if (is_locked(directory)) return Error{Errc::kConflict, "a server runs on " + directory.string()};
  rocksdb::DBOptions options;
  options.wal_recovery_mode = rocksdb::WALRecoveryMode::kTolerateCorruptedTailRecords;
  std::vector<std::string> names;
  rocksdb::Status status = rocksdb::DB::ListColumnFamilies(options, directory.string(), &names);
  std::vector<rocksdb::ColumnFamilyDescriptor> families;
  for (const std::string& name : names) families.emplace_back(name, rocksdb::ColumnFamilyOptions());
  std::unique_ptr<OpenStore> store(new OpenStore());
  rocksdb::DB* database = nullptr;
  if (status.ok()) {
    status = rocksdb::DB::OpenForReadOnly(options, directory.string(), families, &store->handles_,
                                          &database);
  }
  store->database_.reset(database);
  if (status.ok()) return store;
  return Error{status.IsCorruption() ? Errc::kCorrupt : Errc::kIo,
               directory.string() + ": " + status.ToString()};
}

Result<void> OpenStore::scan(const std::string& family, StoreVisitor& visitor,
                             const std::function<void(ByteView key, ByteView value)>& visit) const {
  const auto handle =
      std::ranges::find_if(handles_, [&](auto* one) { return one->GetName() == family; });
  if (handle == handles_.end()) return {};
  rocksdb::ReadOptions options;
  options.fill_cache = false;
  const std::unique_ptr<rocksdb::Iterator> at(database_->NewIterator(options, *handle));
  for (at->SeekToFirst(); at->Valid(); at->Next()) {
    const ByteView key = bytes_of(at->key());
    const auto value = without_seal(family, key, bytes_of(at->value()));
    if (value)
      visit(key, *value);
    else
      visitor.on_damage(family + " key " + at->key().ToString(true) +
                        ": the value fails its checksum");
  }
  if (at->status().ok()) return {};
  return Error{at->status().IsCorruption() ? Errc::kCorrupt : Errc::kIo,
               family + ": " + at->status().ToString()};
}

std::string place(ShardId shard, Version version) {
  return "shard " + to_string(shard) + " version " + to_string(version);
}

// The payloads of a version lie before its commit record.
class LogScan {
 public:
  explicit LogScan(StoreVisitor& visitor) : visitor_(visitor) {}

  void visit(ByteView key, ByteView value) {
    if (key.size() != kCommitKeyBytes && key.size() != kPayloadKeyBytes) {
      return visitor_.on_damage("log: a key of " + std::to_string(key.size()) + " bytes");
    }
    KeyReader in(key);
    const ShardId shard(in.get<std::uint32_t>());
    const Version version(in.get<std::uint64_t>());
    const bool commit = in.get<std::uint8_t>() == 1;
    if (shard != shard_ || version != version_) payloads_.clear();
    shard_ = shard;
    version_ = version;
    if (commit && key.size() == kCommitKeyBytes) return visit_commit(value);
    if (!commit && key.size() == kPayloadKeyBytes) {
      payloads_[in.get<std::uint32_t>()] = {value.size(), checksum(value)};
      return;
    }
    visitor_.on_damage("log: " + place(shard, version) + ": a key of another kind");
  }

 private:
  void visit_commit(ByteView value) {
    const std::string where = "log: " + place(shard_, version_);
    const auto header = EntryHeader::decode(value);
    if (!header) return visitor_.on_damage(where + ": " + header.error().to_string());
    if (header->shard != shard_ || header->version != version_) {
      return visitor_.on_damage(where + ": holds the entry of " +
                                place(header->shard, header->version));
    }
    // What a snapshot replaced goes on with the snapshot's entry, without its updates.
    const bool begins = committed_ != shard_ || version_ != last_.next();
    const bool below_snapshot = payloads_.empty() && begins && version_ != Version(1);
    committed_ = shard_;
    last_ = version_;
    for (std::uint32_t block = 0; block < header->blocks.size() && !below_snapshot; ++block) {
      const BlockUpdate& stated = header->blocks[block];
      const auto found = payloads_.find(block);
      if (found == payloads_.end()) {
        visitor_.on_damage(where + " block " + std::to_string(block) + ": the update is missing");
      } else if (found->second.bytes != stated.bytes || found->second.checksum != stated.checksum) {
        visitor_.on_damage(where + " block " + std::to_string(block) +
                           ": the update is not the one that was committed");
      }
    }
    visitor_.on_entry(*header, checksum(value));
  }

  struct Payload {
    std::size_t bytes = 0;
    Hash checksum;
  };
  StoreVisitor& visitor_;
  ShardId shard_;
  Version version_;
  std::map<std::uint32_t, Payload> payloads_;
  std::optional<ShardId> committed_;  // the shard and the version of the commit record before
  Version last_;
};

void visit_meta(ByteView key, ByteView value, StoreVisitor& visitor) {
  if (key.size() != kShardMetaKeyBytes || std::to_integer<char>(key[0]) != 'c') return;
  const ShardId shard(KeyReader(key.subspan(1)).get<std::uint32_t>());
  ByteReader in(value);
  for (auto count = in.get_count(16); count > 0; --count) {
    visitor.on_pin(shard, in.get<Version>());
    in.get<Hash>();
  }
  if (!in.finished()) visitor.on_damage("meta: shard " + to_string(shard) + ": the list of pins has the wrong length");
}

void visit_snapshot_block(ByteView key, ByteView value, StoreVisitor& visitor) {
  if (key.size() != kSnapshotKeyBytes) return visitor.on_damage("snapshot: a key of another kind");
  KeyReader names(key);
  const ShardId shard(names.get<std::uint32_t>());
  names.get<std::uint64_t>();  // which snapshot
  const auto block = names.get<std::uint32_t>();
  ByteReader in(value);
  const auto version = in.get<Version>();
  const std::uint32_t count = in.get_count(sizeof(float));
  const ByteView raw = in.take(std::size_t{count} * sizeof(float));
  const std::uint32_t moments = in.get_count(sizeof(float));
  in.take(std::size_t{moments} * sizeof(float));
  if (!in.finished() || (moments != 0 && moments != count)) {
    return visitor.on_damage("snapshot: " + place(shard, version) + " block " +
                             std::to_string(block) + ": wrong length");
  }
  std::vector<float> values(count);
  std::memcpy(values.data(), raw.data(), raw.size());
  visitor.on_snapshot_block(shard, block, version, kernels::block_hash(values));
}

void visit_push(ByteView key, ByteView value, StoreVisitor& visitor) {
  if (key.size() != kPushKeyBytes) return visitor.on_damage("pushes: a key of another kind");
  KeyReader names(key);
  const ShardId shard(names.get<std::uint32_t>());
  const WorkerId worker(names.get<std::uint64_t>());
  const Incarnation incarnation(names.get<std::uint64_t>());
  const SequenceNo sequence(names.get<std::uint64_t>());
  ByteReader in(value);
  const auto version = in.get<Version>();
  const auto verdict = in.get<Verdict>();
  if (!in.finished() || verdict < Verdict::kApplied || verdict > Verdict::kDiscarded) {
    return visitor.on_damage("pushes: " + place(shard, version) + ": a record that does not parse");
  }
  visitor.on_push_record(shard, PushId{worker, incarnation, sequence}, version, verdict);
}

void visit_outbox_item(ByteView key, ByteView value, StoreVisitor& visitor) {
  if (key.size() != kOutboxKeyBytes) return;  // the journal of open aggregates
  const ShardId shard(KeyReader(key).get<std::uint32_t>());
  ByteReader in(value);
  const auto header = ContributionHeader::decode(in.get_bytes());
  if (!header)
    return visitor.on_damage("outbox: shard " + to_string(shard) + ": " +
                             header.error().to_string());
  for (const Member& member : header->members) visitor.on_outbox_member(shard, member.id);
}

}  // namespace

Result<void> read_store(const std::filesystem::path& directory, StoreVisitor& visitor) {
  const auto opened = OpenStore::open(directory);
  if (!opened) return opened.error();
  const OpenStore& store = **opened;
  LogScan log(visitor);
  const auto with_visitor = [&visitor](auto visit) {
    return [&visitor, visit](ByteView key, ByteView value) { visit(key, value, visitor); };
  };
  if (auto read = store.scan("meta", visitor, with_visitor(visit_meta)); !read) return read;
  if (auto read = store.scan("snapshot", visitor, with_visitor(visit_snapshot_block)); !read)
    return read;
  if (auto read = store.scan("log", visitor,
                             [&log](ByteView key, ByteView value) { log.visit(key, value); });
      !read) {
    return read;
  }
  if (auto read = store.scan("pushes", visitor, with_visitor(visit_push)); !read) return read;
  return store.scan("outbox", visitor, with_visitor(visit_outbox_item));
}

}  // namespace godwit::cli
