#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <algorithm>
#include <map>
#include <vector>

#include "server/storage/memory_store.h"

namespace godwit {
namespace {

// The obvious model: copy the whole image after every batch.
using Image = std::map<std::string, std::string>;

std::string random_key(Random& random) {
  return std::string(1, static_cast<char>('a' + random.below(6)));
}

Batch random_batch(Random& random, std::uint64_t number) {
  Batch batch;
  for (std::uint64_t i = 0, count = random.below(4); i < count; ++i) {
    const std::string at = random_key(random);
    switch (random.below(4)) {
      case 0:
        batch.erase(Family::kLog, copy(view(at)));
        break;
      case 1:
        batch.erase_range(Family::kLog, copy(view(at)), copy(view(random_key(random))));
        break;
      default:
        batch.put(Family::kLog, copy(view(at)),
                  copy(view(std::to_string(number) + "." + std::to_string(i))));
    }
  }
  // Tells any two images apart.
  batch.put(Family::kLog, copy(view("last")), copy(view(std::to_string(number))));
  batch.sync = random.chance(0.2);
  return batch;
}

void apply(const Batch& batch, Image& image) {
  for (const Write& write : batch.writes) {
    const std::string at(text(write.key));
    const std::string end(text(write.end));
    if (write.kind == Write::Kind::kPut) image[at] = text(view(write.value));
    if (write.kind == Write::Kind::kDelete) image.erase(at);
    if (write.kind == Write::Kind::kDeleteRange) {
      std::erase_if(image,
                    [&](const auto& entry) { return entry.first >= at && entry.first < end; });
    }
  }
}

Image image_of(const MemoryStore& store) {
  Image image;
  const auto scanned =
      store.scan(Family::kLog, view("a"), view("z"), [&](ByteView at, ByteView value) {
        image[std::string(text(at))] = text(value);
        return true;
      });
  RC_ASSERT(scanned.has_value());
  return image;
}

RC_GTEST_PROP(MemoryStoreCrash, LeavesAPrefixThatHoldsEverySyncedBatch, (std::uint64_t seed)) {
  Random random(seed);
  MemoryStore store;
  Image durable;
  std::uint64_t number = 0;
  for (int life = 0; life < 4; ++life) {
    std::vector<Image> allowed = {
        durable};  // images after the last synced batch and each one since
    for (std::uint64_t i = 0, count = random.below(12); i < count; ++i) {
      const Batch batch = random_batch(random, ++number);
      RC_ASSERT(store.write(batch).has_value());
      Image next = allowed.back();
      apply(batch, next);
      if (batch.sync) allowed.clear();
      allowed.push_back(std::move(next));
    }
    RC_ASSERT(image_of(store) == allowed.back());
    RC_ASSERT(store.unsynced_batches() == allowed.size() - 1);
    if (random.chance(0.3)) {
      store.fail_writes({Errc::kIo, "disk full"});
      const Batch refused = random_batch(random, ++number);
      RC_ASSERT(!store.write(refused).has_value());
      RC_ASSERT(image_of(store) == allowed.back());
      Image in_doubt = allowed.back();
      apply(refused, in_doubt);
      allowed.push_back(std::move(in_doubt));
    }
    store.crash(random);
    durable = image_of(store);
    RC_ASSERT(std::find(allowed.begin(), allowed.end(), durable) != allowed.end());
    RC_ASSERT(store.unsynced_batches() == 0U);
  }
}

TEST(MemoryStoreCrash, EveryPrefixHappensAndIsCounted) {
  std::map<std::string, int> survivors;
  CrashStatistics total;
  for (std::uint64_t seed = 0; seed < 200; ++seed) {
    Random random(seed);
    MemoryStore store;
    for (const char* value : {"1", "2", "3"}) {
      Batch batch;
      batch.put(Family::kLog, copy(view("at")), copy(view(value)));
      ASSERT_TRUE(store.write(batch).has_value());
    }
    store.crash(random);
    const auto value = store.get(Family::kLog, view("at"));
    ASSERT_TRUE(value.has_value());
    const std::string left = *value ? std::string(text(**value)) : "0";
    ++survivors[left];
    EXPECT_EQ(store.crash_statistics().lost_batches, 3U - std::stoull(left));
    total.torn_batches += store.crash_statistics().torn_batches;
  }
  EXPECT_EQ(survivors.size(), 4U);
  EXPECT_GT(total.torn_batches, 0U);
}

TEST(MemoryStoreCrash, AFailingDiskRefusesEveryWriteUntilTheCrash) {
  MemoryStore store;
  const Error full{Errc::kIo, "No space left on device"};
  store.fail_writes(full);
  Batch batch;
  batch.put(Family::kLog, copy(view("at")), copy(view("1")));
  EXPECT_EQ(store.write(batch).error(), full);
  EXPECT_EQ(store.write(Batch()).error(), full);
  EXPECT_FALSE(store.get(Family::kLog, view("at"))->has_value());
  Random random(1);
  store.crash(random);
  EXPECT_TRUE(store.write(batch).has_value());
}

TEST(MemoryStoreCrash, ABatchThatAFailingDiskRefusedMayBeThereAfterwards) {
  std::uint64_t found = 0;
  for (std::uint64_t seed = 0; seed < 50; ++seed) {
    Random random(seed);
    MemoryStore store;
    store.fail_writes({Errc::kIo, "fdatasync failed"});
    Batch batch;
    batch.put(Family::kLog, copy(view("at")), copy(view("1")));
    batch.sync = true;
    ASSERT_FALSE(store.write(batch).has_value());
    store.crash(random);
    EXPECT_EQ(store.get(Family::kLog, view("at"))->has_value(),
              store.crash_statistics().found_batches == 1);
    found += store.crash_statistics().found_batches;
  }
  EXPECT_GT(found, 0U);
  EXPECT_LT(found, 50U);
}

TEST(MemoryStoreCrashDeathTest, AVisitorThatWritesIsABug) {
  GTEST_FLAG_SET(death_test_style,
                 "threadsafe");  // this program also opens RocksDB: it must not fork
  MemoryStore store;
  Batch batch;
  batch.put(Family::kLog, copy(view("at")), copy(view("1")));
  ASSERT_TRUE(store.write(batch).has_value());
  const auto write_while_scanning = [&] {
    (void)store.scan(Family::kLog, view("a"), view("z"),
                     [&](ByteView, ByteView) { return store.write(batch).has_value(); });
  };
  EXPECT_DEATH(write_while_scanning(), "visitor does not write");
}

}  // namespace
}  // namespace godwit
