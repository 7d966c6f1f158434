// A disk that fails under RocksDbStore: the first error is the last word, nothing is acknowledged after it, and what
// was acknowledged is there when the disk is well again.
#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <map>
#include <vector>

#include "server/storage/family_name.h"
#include "server/storage/rocksdb_store.h"
#include "tests/support/process.h"
#include "tests/unit/storage/faulty_file_system.h"
#include "tests/unit/storage/temp_directory.h"

namespace godwit {
namespace {

constexpr std::size_t kValueBytes = 20'000;

Bytes numbered_key(unsigned number) { return copy(view(std::to_string(1000 + number))); }
Bytes numbered_value(unsigned number) {
  return copy(view(std::to_string(number) + std::string(kValueBytes, static_cast<char>('a' + number % 26))));
}

class DiskFault : public testing::Test {
 protected:
  DiskFault() { options_.file_system = disk_; }
  void open() {
    store_.reset();
    auto opened = RocksDbStore::open(directory_.path(), options_);
    ASSERT_TRUE(opened.has_value()) << opened.error().to_string();
    store_ = std::move(*opened);
  }
  // On a disk that is well again, after a power cut.
  void crash_and_open() {
    store_.reset();
    disk_->heal();
    Random random(7);
    disk_->lose_unsynced(random);
    open();
  }
  Result<void> put(unsigned number, bool sync = true) {
    Batch batch;
    batch.put(Family::kLog, numbered_key(number), numbered_value(number));
    batch.sync = sync;
    return store_->write(batch);
  }
  bool holds(unsigned number) {
    const auto value = store_->get(Family::kLog, numbered_key(number));
    return value && *value == numbered_value(number);
  }
  void expect_refused(const Error& first) {
    for (const bool sync : {true, false}) {
      const auto later = put(999, sync);
      ASSERT_FALSE(later.has_value());
      EXPECT_EQ(later.error(), first);
    }
    const auto cleared = store_->clear(Family::kLog);
    ASSERT_FALSE(cleared.has_value());
    EXPECT_EQ(cleared.error(), first);
  }

  const std::shared_ptr<FaultyFileSystem> disk_ = std::make_shared<FaultyFileSystem>();
  TempDirectory directory_;
  RocksDbOptions options_;
  std::unique_ptr<RocksDbStore> store_;
};

struct WriteFault {
  const char* what;
  Fault fault;
  bool flush;  // what meets it: a flush, else a synced write
};

constexpr WriteFault kWriteFaults[] = {
    {"EIO on fsync of the log", {FileKind::kLog, FileOperation::kSync}, false},
    {"EIO on append to the log", {FileKind::kLog, FileOperation::kAppend}, false},
    {"no space for the log", {FileKind::kLog, FileOperation::kAppend, true}, false},
    {"EIO on append to a table", {FileKind::kTable, FileOperation::kAppend}, true},
    {"EIO on fsync of a table", {FileKind::kTable, FileOperation::kSync}, true},
    {"no space for a table", {FileKind::kTable, FileOperation::kAppend, true}, true},
    {"EIO on append to the manifest", {FileKind::kManifest, FileOperation::kAppend}, true},
    {"EIO on fsync of the manifest", {FileKind::kManifest, FileOperation::kSync}, true},
    {"no space for the manifest", {FileKind::kManifest, FileOperation::kAppend, true}, true},
};

TEST_F(DiskFault, TheFirstErrorIsTheLastWordAndNothingAcknowledgedIsLost) {
  std::atomic<int> reports{0};
  std::string reported;
  options_.on_failure = [&](const Error& why) {
    ++reports;
    reported = why.context;
  };
  open();
  unsigned number = 0;
  std::vector<unsigned> acknowledged;
  for (const WriteFault& row : kWriteFaults) {
    SCOPED_TRACE(row.what);
    reports = 0;
    ASSERT_TRUE(put(number).has_value());
    acknowledged.push_back(number++);
    disk_->fail(row.fault);
    const Result<void> failed = row.flush ? store_->flush() : put(number++);
    ASSERT_FALSE(failed.has_value());
    const Result<void> next = put(number);
    ASSERT_FALSE(next.has_value());
    EXPECT_EQ(next.error().code, Errc::kIo);
    EXPECT_EQ(reports, 1);
    EXPECT_EQ(reported, next.error().context);
    EXPECT_NE(reported.find(row.fault.no_space ? "the disk is full" : "Input/output error"), std::string::npos)
        << reported;
    EXPECT_NE(reported.find(directory_.path().string()), std::string::npos) << "it names the file: " << reported;
    expect_refused(next.error());
    EXPECT_TRUE(holds(acknowledged.back())) << "it still reads";
    disk_->heal();
    expect_refused(next.error());  // for good: what the disk holds is not known
    crash_and_open();
    for (const unsigned before : acknowledged) EXPECT_TRUE(holds(before)) << before;
    EXPECT_FALSE(holds(999)) << "nothing refused is there";
  }
}

TEST_F(DiskFault, AFlushThatFailsInTheBackgroundFailsTheStore) {
  std::atomic<bool> reported{false};
  options_.on_failure = [&](const Error& /*why*/) { reported = true; };
  options_.memtable_bytes = 1U << 20U;
  open();
  disk_->fail({FileKind::kTable, FileOperation::kAppend, true});
  unsigned written = 0;
  while (written < 400 && put(written, false).has_value()) ++written;
  ASSERT_TRUE(support::eventually(std::chrono::seconds(10), [&] { return reported.load(); }))
      << "it goes on after " << disk_->failures() << " failed operations";
  const auto refused = put(written);
  ASSERT_FALSE(refused.has_value());
  EXPECT_EQ(refused.error().code, Errc::kIo);
  EXPECT_NE(refused.error().context.find("flush: "), std::string::npos) << refused.error().context;
  EXPECT_NE(refused.error().context.find("the disk is full"), std::string::npos) << refused.error().context;
  expect_refused(refused.error());
  for (unsigned i = 0; i < written; ++i) EXPECT_TRUE(holds(i)) << i;
}

TEST_F(DiskFault, ATableThatCannotBeReadIsAnErrorWithItsNameAndGoneWithIt) {
  open();
  for (unsigned i = 0; i < 8; ++i) ASSERT_TRUE(put(i, false).has_value());
  ASSERT_TRUE(store_->flush().has_value());
  open();  // nothing is cached
  disk_->fail({FileKind::kTable, FileOperation::kRead});
  const auto value = store_->get(Family::kLog, numbered_key(3));
  ASSERT_FALSE(value.has_value());
  EXPECT_EQ(value.error().code, Errc::kIo);
  for (const char* named : {"log key \"1003\"", ".sst", "Input/output error"})
    EXPECT_NE(value.error().context.find(named), std::string::npos) << value.error().context;
  const auto scanned = store_->scan(Family::kLog, view("0"), view("9"), [](ByteView, ByteView) { return true; });
  ASSERT_FALSE(scanned.has_value());
  EXPECT_EQ(scanned.error().code, Errc::kIo);
  disk_->heal();
  EXPECT_TRUE(holds(3));
  EXPECT_TRUE(put(9).has_value()) << "a failed read loses nothing";
}

// Whatever of it meets the fault: the log that is moved into tables, the new manifest, other files.
TEST_F(DiskFault, ADiskThatFailsAtTheStartIsNamedAndNothingIsLost) {
  open();
  ASSERT_TRUE(put(1).has_value());
  for (const FileKind kind : {FileKind::kTable, FileKind::kManifest, FileKind::kOther}) {
    for (const FileOperation operation : {FileOperation::kAppend, FileOperation::kSync}) {
      SCOPED_TRACE(std::to_string(static_cast<int>(kind)) + " " + std::to_string(static_cast<int>(operation)));
      store_.reset();
      disk_->fail({kind, operation, true});
      const auto opened = RocksDbStore::open(directory_.path(), options_);
      ASSERT_FALSE(opened.has_value());
      EXPECT_EQ(opened.error().code, Errc::kIo) << opened.error().context;
      EXPECT_NE(opened.error().context.find("the disk is full: free space"), std::string::npos)
          << opened.error().context;
      disk_->heal();
      open();
      EXPECT_TRUE(holds(1));
      ASSERT_TRUE(put(2).has_value()) << "there is a log to move next time";
    }
  }
}

// ---- any script, any fault: what was acknowledged as synced is there, and the rest is a prefix of what was written

using Image = std::map<std::string, std::string>;

struct Script {
  Random random;
  std::uint64_t number = 0;

  Batch batch() {
    Batch batch;
    for (std::uint64_t i = 0, count = random.below(3); i < count; ++i) {
      const std::string at(1, static_cast<char>('a' + random.below(6)));
      if (random.chance(0.3)) {
        batch.erase(Family::kLog, copy(view(at)));
      } else {
        batch.put(Family::kLog, copy(view(at)),
                  copy(view(std::to_string(++number) + std::string(random.below(40'000), 'x'))));
      }
    }
    // In another family: a batch is there in all of them or in none.
    batch.put(Family::kMeta, copy(view("last")), copy(view(std::to_string(++number))));
    batch.sync = random.chance(0.4);
    return batch;
  }
  Fault fault() {
    constexpr FileKind kKinds[] = {FileKind::kLog, FileKind::kLog, FileKind::kTable, FileKind::kManifest};
    return {kKinds[random.below(4)], random.chance(0.5) ? FileOperation::kSync : FileOperation::kAppend,
            random.chance(0.5)};
  }
};

Image after(Image image, const Batch& batch) {
  for (const Write& write : batch.writes) {
    const std::string at(text(write.key));
    if (write.kind == Write::Kind::kPut) image[at] = text(view(write.value));
    if (write.kind == Write::Kind::kDelete) image.erase(at);
  }
  return image;
}

Image image_of(const RocksDbStore& store) {
  Image image;
  for (const Family family : {Family::kLog, Family::kMeta}) {
    const auto scanned = store.scan(family, view("a"), view("z"), [&](ByteView at, ByteView value) {
      image[std::string(text(at))] = text(value);
      return true;
    });
    EXPECT_TRUE(scanned.has_value()) << scanned.error().to_string();
  }
  return image;
}

class DiskFaultScript : public DiskFault {
 protected:
  // Writes until the fault is met, or the script ends; whether it was met.
  bool write_until_it_fails(Script& script, std::vector<Image>& allowed) {
    disk_->fail(script.fault(), script.random.below(12));
    for (int i = 0; i < 16; ++i) {
      if (script.random.chance(0.15) && !store_->flush()) return true;
      const Batch batch = script.batch();
      const Result<void> written = store_->write(batch);
      Image next = after(allowed.back(), batch);
      if (written && batch.sync) allowed.clear();
      allowed.push_back(std::move(next));  // refused, it may be there or not
      if (!written) return true;
      EXPECT_EQ(image_of(*store_), allowed.back());
    }
    return false;
  }
};

TEST_F(DiskFaultScript, EndsInAPrefixThatHoldsEveryAcknowledgedSync) {
  int met = 0, lives = 0;
  Image durable;
  open();
  for (std::uint64_t seed = 1; seed <= 15; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    Script script{Random(seed), seed * 1'000'000};
    std::vector<Image> allowed = {durable};  // after the last synced batch, and after each one since
    const bool failed = write_until_it_fails(script, allowed);
    ++lives;
    if (failed) {
      ++met;
      const auto before = allowed;
      EXPECT_FALSE(store_->write(script.batch()).has_value()) << "nothing is acknowledged any more";
      const Image now = image_of(*store_);
      EXPECT_NE(std::find(before.begin(), before.end(), now), before.end()) << "it still reads";
    }
    store_.reset();
    disk_->heal();
    disk_->lose_unsynced(script.random);
    open();
    ASSERT_TRUE(store_ != nullptr);
    durable = image_of(*store_);
    ASSERT_NE(std::find(allowed.begin(), allowed.end(), durable), allowed.end()) << "after the crash";
  }
  EXPECT_GT(met, lives / 3) << "scripts meet their faults";
}

}  // namespace
}  // namespace godwit
