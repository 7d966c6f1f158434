// What every Store promises, held against both of them.
#include <gtest/gtest.h>

#include <map>
#include <memory>
#include <thread>
#include <vector>

#include "server/storage/family_name.h"
#include "server/storage/memory_store.h"
#include "server/storage/rocksdb_store.h"
#include "tests/unit/storage/temp_directory.h"

namespace godwit {
namespace {

class MemoryBackend {
 public:
  Store& store() { return store_; }
  void reopen() {
    Random random(7);
    store_.crash(random);
  }

 private:
  MemoryStore store_;
};

class RocksDbBackend {
 public:
  RocksDbBackend() { open(); }
  Store& store() { return *store_; }
  void reopen() {
    store_.reset();
    open();
  }

 private:
  void open() {
    auto opened = RocksDbStore::open(directory_.path());
    GODWIT_CHECK(opened, opened.error().to_string());
    store_ = std::move(*opened);
  }
  TempDirectory directory_;
  std::unique_ptr<RocksDbStore> store_;
};

Bytes key(std::string_view text) { return copy(view(text)); }

template <class Backend>
class StoreConformance : public testing::Test {
 protected:
  Store& store() { return backend_.store(); }
  void reopen() { backend_.reopen(); }

  void write(const Batch& batch) {
    const auto written = store().write(batch);
    ASSERT_TRUE(written.has_value()) << written.error().to_string();
  }
  void put(Family family, std::string_view at, std::string_view value) {
    Batch batch;
    batch.put(family, key(at), key(value));
    batch.sync = true;
    write(batch);
  }
  std::string get(Family family, std::string_view at) {
    const auto value = store().get(family, view(at));
    if (!value) return value.error().to_string();
    return *value ? std::string(text(**value)) : "(absent)";
  }
  // "a=1 b=2 "
  std::string scan(Family family, ByteView begin, ByteView end) {
    std::string out;
    const auto scanned = store().scan(family, begin, end, [&](ByteView at, ByteView value) {
      out += std::string(text(at)) + "=" + std::string(text(value)) + " ";
      return true;
    });
    return scanned ? out : scanned.error().to_string();
  }
  std::string scan(std::string_view begin, std::string_view end) {
    return scan(Family::kMeta, view(begin), view(end));
  }

 private:
  Backend backend_;
};

using Backends = testing::Types<MemoryBackend, RocksDbBackend>;
TYPED_TEST_SUITE(StoreConformance, Backends);

TYPED_TEST(StoreConformance, ReadsBackWhatWasPut) {
  EXPECT_EQ(this->get(Family::kMeta, "a"), "(absent)");
  this->put(Family::kMeta, "a", "1");
  EXPECT_EQ(this->get(Family::kMeta, "a"), "1");
  this->put(Family::kMeta, "a", "2");
  EXPECT_EQ(this->get(Family::kMeta, "a"), "2");
}

TYPED_TEST(StoreConformance, AnEmptyOrNullValueIsPresentAndEmpty) {
  Batch batch;
  batch.put(Family::kMeta, key("empty"), Bytes());
  batch.put(Family::kMeta, key("null"), SharedBytes());
  this->write(batch);
  EXPECT_EQ(this->get(Family::kMeta, "empty"), "");
  EXPECT_EQ(this->get(Family::kMeta, "null"), "");
}

TYPED_TEST(StoreConformance, FamiliesAreApart) {
  for (const Family family : kFamilies) this->put(family, "same", name(family));
  for (const Family family : kFamilies) EXPECT_EQ(this->get(family, "same"), name(family));
}

TYPED_TEST(StoreConformance, ScansInByteOrderFromBeginIncludedToEndNotIncluded) {
  for (const char* at : {"b", "a", "d", "c", "bb"}) this->put(Family::kMeta, at, "1");
  EXPECT_EQ(this->scan("a", "d"), "a=1 b=1 bb=1 c=1 ");
  EXPECT_EQ(this->scan("aa", "bb"), "b=1 ");
  EXPECT_EQ(this->scan("", "~"), "a=1 b=1 bb=1 c=1 d=1 ");
}

TYPED_TEST(StoreConformance, BytesAreOrderedUnsigned) {
  this->put(Family::kMeta, "\x7f", "low");
  this->put(Family::kMeta, "\x80", "high");
  EXPECT_EQ(this->scan("\x01", "\xff"), "\x7f=low \x80=high ");
}

TYPED_TEST(StoreConformance, AnEmptyOrReversedRangeHoldsNothing) {
  this->put(Family::kMeta, "b", "1");
  EXPECT_EQ(this->scan("b", "b"), "");
  EXPECT_EQ(this->scan("c", "a"), "");
  EXPECT_EQ(this->scan("a", ""), "");
  Batch batch;
  batch.erase_range(Family::kMeta, key("c"), key("a"));
  batch.erase_range(Family::kMeta, key("b"), key("b"));
  batch.erase_range(Family::kMeta, key("a"), key(""));
  this->write(batch);
  EXPECT_EQ(this->get(Family::kMeta, "b"), "1");
}

TYPED_TEST(StoreConformance, AVisitorStopsTheScan) {
  for (const char* at : {"a", "b", "c"}) this->put(Family::kMeta, at, "1");
  int visited = 0;
  const auto scanned = this->store().scan(Family::kMeta, view("a"), view("z"),
                                          [&](ByteView, ByteView) { return ++visited < 2; });
  EXPECT_TRUE(scanned.has_value());
  EXPECT_EQ(visited, 2);
}

TYPED_TEST(StoreConformance, AVisitorMayRead) {
  for (const char* at : {"a", "b"}) this->put(Family::kMeta, at, at);
  std::string seen;
  const auto scanned =
      this->store().scan(Family::kMeta, view("a"), view("z"), [&](ByteView at, ByteView) {
        seen += this->get(Family::kMeta, text(at));
        return true;
      });
  EXPECT_TRUE(scanned.has_value());
  EXPECT_EQ(seen, "ab");
}

TYPED_TEST(StoreConformance, EraseRangeTakesBeginAndLeavesEnd) {
  for (const char* at : {"a", "b", "c", "d"}) this->put(Family::kMeta, at, "1");
  this->put(Family::kLog, "b", "other family");
  Batch batch;
  batch.erase_range(Family::kMeta, key("b"), key("d"));
  this->write(batch);
  EXPECT_EQ(this->scan("", "~"), "a=1 d=1 ");
  EXPECT_EQ(this->get(Family::kLog, "b"), "other family");
}

TYPED_TEST(StoreConformance, WritesOfABatchTakeEffectInOrder) {
  this->put(Family::kMeta, "a", "old");
  Batch batch;
  batch.erase_range(Family::kMeta, key("a"), key("z"));
  batch.put(Family::kMeta, key("a"), key("new"));
  batch.put(Family::kMeta, key("b"), key("gone"));
  batch.erase(Family::kMeta, key("b"));
  batch.erase(Family::kMeta, key("never-there"));
  batch.put(Family::kMeta, key("c"), key("1"));
  batch.put(Family::kMeta, key("c"), key("2"));
  this->write(batch);
  EXPECT_EQ(this->scan("", "~"), "a=new c=2 ");
}

TYPED_TEST(StoreConformance, SyncedBatchesAndThoseBeforeThemAreThereAfterReopening) {
  Batch unsynced;
  unsynced.put(Family::kLog, key("payload"), key("1"));
  unsynced.put(Family::kLog, key("gone"), key("1"));
  this->write(unsynced);
  Batch synced;
  synced.put(Family::kMeta, key("commit"), key("2"));
  synced.erase(Family::kLog, key("gone"));
  synced.sync = true;
  this->write(synced);
  this->reopen();
  EXPECT_EQ(this->get(Family::kLog, "payload"), "1");
  EXPECT_EQ(this->get(Family::kLog, "gone"), "(absent)");
  EXPECT_EQ(this->get(Family::kMeta, "commit"), "2");
}

TYPED_TEST(StoreConformance, AnEmptySyncedBatchMakesWhatCameBeforeDurable) {
  for (int i = 0; i < 20; ++i) {
    Batch batch;
    batch.put(Family::kLog, key(std::to_string(i)), key("1"));
    this->write(batch);
  }
  Batch barrier;
  barrier.sync = true;
  this->write(barrier);
  this->reopen();
  for (int i = 0; i < 20; ++i) EXPECT_EQ(this->get(Family::kLog, std::to_string(i)), "1");
}

TYPED_TEST(StoreConformance, HoldsValuesOfAMebibyte) {
  Bytes value(1U << 20U);
  for (std::size_t i = 0; i < value.size(); ++i) value[i] = static_cast<std::byte>(i * 7 / 3);
  Batch batch;
  batch.put(Family::kSnapshot, key("block"), share(value));
  batch.sync = true;
  this->write(batch);
  this->reopen();
  const auto read = this->store().get(Family::kSnapshot, view("block"));
  ASSERT_TRUE(read.has_value());
  EXPECT_EQ(**read, value);
}

TYPED_TEST(StoreConformance, ThreadsWriteAtTheSameTime) {
  constexpr int kThreads = 4;
  constexpr int kBatches = 25;
  std::vector<std::thread> threads;
  for (int thread = 0; thread < kThreads; ++thread) {
    threads.emplace_back([this, thread] {
      for (int i = 0; i < kBatches; ++i) {
        this->put(Family::kMeta, std::to_string(thread) + "/" + std::to_string(100 + i), "1");
      }
    });
  }
  for (auto& thread : threads) thread.join();
  this->reopen();
  int found = 0;
  const auto scanned = this->store().scan(Family::kMeta, view("0"), view("9"),
                                          [&](ByteView, ByteView) { return ++found > 0; });
  EXPECT_TRUE(scanned.has_value());
  EXPECT_EQ(found, kThreads * kBatches);
}

}  // namespace
}  // namespace godwit
