// What only a disk can do: damage, locks, refusals, a full disk, files.
#include "server/storage/rocksdb_store.h"

#include <gtest/gtest.h>
#include <sys/resource.h>
#include <unistd.h>

#include <atomic>
#include <csignal>
#include <fstream>
#include <vector>

#include "tests/support/process.h"
#include "tests/unit/storage/temp_directory.h"

namespace godwit {
namespace {

namespace fs = std::filesystem;

Bytes noise(std::size_t count, unsigned seed) {
  Bytes out(count);
  std::uint32_t state = seed * 2654435761U + 1;
  for (std::byte& byte : out) {
    state = state * 1664525U + 1013904223U;
    byte = static_cast<std::byte>(state >> 24U);
  }
  return out;
}

Bytes numbered_key(unsigned number) { return copy(view(std::to_string(1000 + number))); }

// No file may grow beyond `limit_bytes` while this lives: the next write fails as on a full disk.
class FileSizeLimit {
 public:
  explicit FileSizeLimit(rlim_t limit_bytes) {
    std::signal(SIGXFSZ, SIG_IGN);
    GODWIT_CHECK(::getrlimit(RLIMIT_FSIZE, &before_) == 0, "limits can be read");
    const rlimit limit{limit_bytes, before_.rlim_max};
    GODWIT_CHECK(::setrlimit(RLIMIT_FSIZE, &limit) == 0, "the soft limit can be lowered");
  }
  ~FileSizeLimit() { ::setrlimit(RLIMIT_FSIZE, &before_); }
  FileSizeLimit(const FileSizeLimit&) = delete;
  FileSizeLimit& operator=(const FileSizeLimit&) = delete;

 private:
  rlimit before_{};
};

class RocksDbStoreTest : public testing::Test {
 protected:
  void open(const RocksDbOptions& options = {}) {
    store_.reset();
    auto opened = RocksDbStore::open(path(), options);
    ASSERT_TRUE(opened.has_value()) << opened.error().to_string();
    store_ = std::move(*opened);
  }
  void close() { store_.reset(); }
  Error open_error(const RocksDbOptions& options = {}) {
    auto opened = RocksDbStore::open(path(), options);
    return opened ? Error{Errc::kInternal, "it opened"} : opened.error();
  }
  Result<void> put(unsigned number, std::size_t count, bool sync = true) {
    Batch batch;
    batch.put(Family::kLog, numbered_key(number), noise(count, number));
    batch.sync = sync;
    return store_->write(batch);
  }
  bool holds(unsigned number, std::size_t count) {
    const auto value = store_->get(Family::kLog, numbered_key(number));
    return value && *value == noise(count, number);
  }
  fs::path only_file(std::string_view extension) {
    std::vector<fs::path> found;
    for (const auto& entry : fs::directory_iterator(path())) {
      if (entry.path().extension() == extension) found.push_back(entry.path());
    }
    EXPECT_EQ(found.size(), 1U) << extension;
    return found.empty() ? fs::path() : found.front();
  }
  static void flip_byte(const fs::path& file, std::uintmax_t at) {
    std::fstream stream(file, std::ios::in | std::ios::out | std::ios::binary);
    stream.seekg(static_cast<std::streamoff>(at));
    const char byte = static_cast<char>(stream.get() ^ 0x40);
    stream.seekp(static_cast<std::streamoff>(at));
    stream.put(byte);
    ASSERT_TRUE(stream.good());
  }
  const fs::path& path() const { return directory_.path(); }
  RocksDbStore& store() { return *store_; }

 private:
  TempDirectory directory_;
  std::unique_ptr<RocksDbStore> store_;
};

TEST_F(RocksDbStoreTest, ASecondOpenIsRefusedInWords) {
  open();
  const Error error = open_error();
  EXPECT_EQ(error.code, Errc::kUnavailable);
  EXPECT_EQ(error.context, "another godwit-server runs on data directory " + path().string() +
                               ": stop it, or choose another directory");
}

TEST_F(RocksDbStoreTest, AFileInPlaceOfTheDirectoryIsRefusedInWords) {
  const fs::path file = path() / "file";
  std::ofstream(file) << "text";
  const auto opened = RocksDbStore::open(file);
  ASSERT_FALSE(opened.has_value());
  EXPECT_EQ(opened.error().code, Errc::kConfig);
  EXPECT_NE(opened.error().context.find("is not a directory"), std::string::npos);
}

TEST_F(RocksDbStoreTest, MissingParentsAreMadeUnlessTheStoreMustExist) {
  const fs::path nested = path() / "a" / "b";
  const auto missing =
      RocksDbStore::open(nested, {.if_missing = IfMissing::kFail});
  ASSERT_FALSE(missing.has_value());
  EXPECT_EQ(missing.error().code, Errc::kNotFound);
  EXPECT_FALSE(fs::exists(nested));
  EXPECT_TRUE(RocksDbStore::open(nested).has_value());
  EXPECT_TRUE(
      RocksDbStore::open(nested, {.if_missing = IfMissing::kFail}).has_value());
}

TEST_F(RocksDbStoreTest, AnEmptyDirectoryIsNoStore) {
  EXPECT_EQ(open_error({.if_missing = IfMissing::kFail}).code, Errc::kNotFound);
  EXPECT_TRUE(fs::is_empty(path()));
}

TEST_F(RocksDbStoreTest, ADirectoryClosedToThisUserIsRefusedInWords) {
  constexpr auto kReadOnly = fs::perms(0555);
  constexpr uid_t kNobody = 65534;
  fs::permissions(path(), kReadOnly);
  const bool root = ::geteuid() == 0;  // may write everywhere, until it is somebody else
  ASSERT_TRUE(!root || ::seteuid(kNobody) == 0);
  const Error error = open_error();
  ASSERT_TRUE(!root || ::seteuid(0) == 0);
  fs::permissions(path(), fs::perms::owner_all);
  EXPECT_EQ(error.code, Errc::kConfig);
  EXPECT_NE(error.context.find("is closed to this user"), std::string::npos);
}

TEST_F(RocksDbStoreTest, AFlippedByteInATableFileIsCorruptAndNamesKeyAndFile) {
  open();
  for (unsigned i = 0; i < 8; ++i) ASSERT_TRUE(put(i, 100'000).has_value());
  ASSERT_TRUE(store().flush().has_value());
  close();
  const fs::path table = only_file(".sst");
  flip_byte(table, 350'000);
  open();
  const auto value = store().get(Family::kLog, numbered_key(3));
  ASSERT_FALSE(value.has_value());
  EXPECT_EQ(value.error().code, Errc::kCorrupt);
  EXPECT_NE(value.error().context.find("log key \"1003\""), std::string::npos)
      << value.error().context;
  EXPECT_NE(value.error().context.find(table.filename().string()), std::string::npos)
      << value.error().context;
  EXPECT_TRUE(holds(7, 100'000));
  unsigned visited = 0;
  const auto scanned = store().scan(Family::kLog, view("0"), view("9"),
                                    [&](ByteView, ByteView) { return ++visited > 0; });
  ASSERT_FALSE(scanned.has_value());
  EXPECT_EQ(scanned.error().code, Errc::kCorrupt);
  EXPECT_EQ(visited, 3U);
}

TEST_F(RocksDbStoreTest, DamageInsideTheLogIsRefusedAndItsPrefixKeptOnRequest) {
  open();
  for (unsigned i = 0; i < 8; ++i) ASSERT_TRUE(put(i, 100'000).has_value());
  close();
  const fs::path log = only_file(".log");
  flip_byte(log, 350'000);
  const Error error = open_error();
  EXPECT_EQ(error.code, Errc::kCorrupt);
  EXPECT_NE(error.context.find("is damaged"), std::string::npos) << error.context;
  EXPECT_EQ(open_error().code, Errc::kCorrupt) << "the refusal changed nothing";
  open({.damaged_log = DamagedLog::kKeepPrefix});
  for (unsigned i = 0; i < 3; ++i) EXPECT_TRUE(holds(i, 100'000));
  for (unsigned i = 3; i < 8; ++i) EXPECT_FALSE(holds(i, 100'000));
}

TEST_F(RocksDbStoreTest, ATornLastBatchIsDroppedWhole) {
  open();
  ASSERT_TRUE(put(0, 100'000).has_value());
  Batch last;
  last.put(Family::kLog, numbered_key(1), noise(100'000, 1));
  last.put(Family::kMeta, copy(view("commit")), copy(view("1")));
  ASSERT_TRUE(store().write(last).has_value());
  close();
  const fs::path log = only_file(".log");
  fs::resize_file(log, fs::file_size(log) - 1);
  open();
  EXPECT_TRUE(holds(0, 100'000));
  EXPECT_FALSE(holds(1, 100'000));
  EXPECT_FALSE(store().get(Family::kMeta, view("commit"))->has_value());
}

TEST_F(RocksDbStoreTest, AfterAFailedSyncedWriteAllLaterWritesReturnTheFirstError) {
  open();
  ASSERT_TRUE(put(0, 1000).has_value());
  Error first;
  {
    const FileSizeLimit full(1U << 20U);
    const auto failed = put(1, 4U << 20U);
    ASSERT_FALSE(failed.has_value());
    first = failed.error();
  }
  EXPECT_EQ(first.code, Errc::kIo);
  EXPECT_NE(first.context.find("synced write"), std::string::npos) << first.context;
  for (const bool sync : {true, false}) {
    const auto later = put(2, 10, sync);
    ASSERT_FALSE(later.has_value());
    EXPECT_EQ(later.error(), first);
  }
  EXPECT_TRUE(holds(0, 1000)) << "it still reads";
  open();
  EXPECT_TRUE(holds(0, 1000));
  EXPECT_FALSE(holds(2, 10)) << "nothing refused is there";
  EXPECT_TRUE(put(2, 10).has_value());
}

TEST_F(RocksDbStoreTest, ReportsTheDurationOfEveryLogSync) {
  std::atomic<int> syncs{0};
  std::atomic<std::int64_t> nanoseconds{0};
  RocksDbOptions options;
  options.on_log_sync = [&](Duration duration) {
    ++syncs;
    nanoseconds += duration.count();
  };
  open(options);
  const int before = syncs;
  ASSERT_TRUE(put(0, 10, false).has_value());
  EXPECT_EQ(syncs, before);
  for (unsigned i = 0; i < 3; ++i) ASSERT_TRUE(put(i, 10).has_value());
  EXPECT_EQ(syncs, before + 3);
  Batch barrier;
  barrier.sync = true;
  ASSERT_TRUE(store().write(barrier).has_value());
  EXPECT_EQ(syncs, before + 4) << "an empty synced batch is a barrier";
  EXPECT_GT(nanoseconds, 0);
  close();
}

TEST_F(RocksDbStoreTest, TheLogIsBoundedByFlushing) {
  RocksDbOptions options;
  options.write_ahead_log_bytes = 4U << 20U;
  open(options);
  for (unsigned i = 0; i < 48; ++i) ASSERT_TRUE(put(i, 1U << 20U, false).has_value());
  // Nobody asks for a flush: the bound does. Flushed logs are deleted in the background; the bound
  // starts a flush, so the log being written and the one being flushed come on top of it.
  EXPECT_TRUE(support::eventually(std::chrono::seconds(10), [&] {
    return store().disk_usage().write_ahead_log_bytes <= (16U << 20U);
  })) << store().disk_usage().write_ahead_log_bytes;
  ASSERT_TRUE(store().flush().has_value());
  const DiskUsage usage = store().disk_usage();
  EXPECT_GE(usage.family_bytes[static_cast<std::size_t>(Family::kLog)], 48U << 20U);
  EXPECT_EQ(usage.family_bytes[static_cast<std::size_t>(Family::kOutbox)], 0U);
}

TEST_F(RocksDbStoreTest, AFamilyThatWasEmptiedIsUsedAgainAndTheOthersStay) {
  open();
  for (unsigned i = 0; i < 100; ++i) ASSERT_TRUE(put(i, 1000, false).has_value());
  Batch other;
  other.put(Family::kOutbox, numbered_key(1), copy(view("kept")));
  ASSERT_TRUE(store().write(other).has_value());
  ASSERT_TRUE(store().flush().has_value());
  ASSERT_TRUE(store().clear(Family::kLog).has_value());
  ASSERT_TRUE(put(7, 1000, true).has_value());
  for (const bool again : {false, true}) {
    if (again) open();
    for (unsigned i = 0; i < 100; ++i) EXPECT_EQ(holds(i, 1000), i == 7) << i;
    EXPECT_TRUE(*store().get(Family::kOutbox, numbered_key(1)));
  }
}

}  // namespace
}  // namespace godwit
