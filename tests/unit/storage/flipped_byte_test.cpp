// A byte that flips in a stopped server's data directory, in every kind of file and at several places of each: it
// changes nothing, or it is found and named. No value is wrong or silently gone.
#include <gtest/gtest.h>

#include <algorithm>
#include <fstream>
#include <map>

#include "server/core/recovery.h"
#include "server/core/renewal.h"
#include "server/storage/family_name.h"
#include "server/storage/rocksdb_store.h"
#include "tests/fuzz/stored_log.h"
#include "tests/unit/storage/faulty_file_system.h"
#include "tests/unit/storage/temp_directory.h"

namespace godwit {
namespace {

namespace fs = std::filesystem;
using fuzz::Records;

constexpr ShardId kShard;

// What a leader holds, with something in every family.
const Records& records() {
  static const Records kRecords = [] {
    Records records = fuzz::stored_records(0);
    for (const auto& [place, value] : fuzz::stored_records(1)) {
      if (place.first == Family::kOutbox) records.insert({place, value});
    }
    records[{Family::kControl, copy(view("run/mode"))}] = copy(view("a record of the control store"));
    return records;
  }();
  return kRecords;
}

enum class Outcome { kUnaffected, kRefusedAtOpen, kFoundByReading, kLost };

class FlippedByte : public testing::Test {
 protected:
  FlippedByte() { options_.file_system = std::make_shared<FaultyFileSystem>(); }

  // All records: in table files, one of each family, or in the log.
  fs::path write_store(bool into_tables) {
    const fs::path directory = directory_.path() / "source";
    const auto store = RocksDbStore::open(directory, options_);
    GODWIT_CHECK(store, store.error().to_string());
    for (const auto& [place, value] : records()) {
      Batch batch;
      batch.put(place.first, place.second, value);
      GODWIT_CHECK((*store)->write(batch), "a healthy disk is written");
    }
    if (into_tables) GODWIT_CHECK((*store)->flush(), "a healthy disk is written");
    return directory;
  }

  // A copy of the directory in which a byte of that file has flipped.
  fs::path flip(const fs::path& file, std::uintmax_t at, char mask) const {
    const fs::path victim = directory_.path() / "victim";
    fs::remove_all(victim);
    fs::copy(file.parent_path(), victim);
    std::fstream stream(victim / file.filename(), std::ios::in | std::ios::out | std::ios::binary);
    stream.seekg(static_cast<std::streamoff>(at));
    const char byte = static_cast<char>(stream.get() ^ mask);
    stream.seekp(static_cast<std::streamoff>(at));
    stream.put(byte);
    return victim;
  }

  Outcome flipped(const fs::path& file, std::uintmax_t at, char mask) const {
    const fs::path victim = flip(file, at, mask);
    const auto store = RocksDbStore::open(victim, options_);
    if (store) return read(**store, file.filename());
    EXPECT_EQ(store.error().code, Errc::kCorrupt) << store.error().context;
    expect_named(store.error(), file.filename());
    EXPECT_NE(store.error().context.find("Move it away and start this server again"), std::string::npos)
        << store.error().context;
    return Outcome::kRefusedAtOpen;
  }

  // Every record, then what a server makes of them.
  static Outcome read(const RocksDbStore& store, const std::string& file) {
    bool found = false;
    for (const auto& [place, value] : records()) {
      const auto read = store.get(place.first, place.second);
      if (read && (!*read || **read != value)) return Outcome::kLost;
      if (read) continue;
      found = true;
      EXPECT_EQ(read.error().code, Errc::kCorrupt) << read.error().context;
      expect_named(read.error(), file);
      EXPECT_NE(read.error().context.find(describe_key(place.first, place.second)), std::string::npos)
          << read.error().context;
    }
    for (const auto leads : {std::optional<RegionId>(), std::optional(RegionId(0))}) {
      const Result<Recovered> recovered = recover_shard(store, kShard, fuzz::stored_layout(), leads);
      if (recovered) {
        EXPECT_EQ(recovered->state.head().version, healthy_head());
      } else {
        EXPECT_TRUE(found && recovered.error().code == Errc::kCorrupt) << recovered.error().context;
      }
    }
    return found ? Outcome::kFoundByReading : Outcome::kUnaffected;
  }
  static bool is_replica(Family family) {
    return std::ranges::find(kReplicaFamilies, family) != kReplicaFamilies.end();
  }
  static Result<void> verify_what_stays(const RocksDbStore& store) {
    for (const Family family : kFamilies) {
      if (is_replica(family)) continue;
      if (Result<void> verified = store.verify(family); !verified) return verified;
    }
    return {};
  }
  static void expect_named(const Error& error, const std::string& file) {
    const std::string words = file == "CURRENT" && error.context.find(file) == std::string::npos ? "MANIFEST-" : file;
    EXPECT_NE(error.context.find(words), std::string::npos) << error.context;
  }
  static Version healthy_head() {
    MemoryStore store;
    fuzz::fill(store, records());
    return recover_shard(store, kShard, fuzz::stored_layout(), std::nullopt)->state.head().version;
  }

  // How many flips ended how, at `count` places of each file whose name holds `part`.
  std::map<Outcome, int> flip_all(const fs::path& source, const std::string& part, std::uintmax_t count) {
    std::map<Outcome, int> outcomes;
    for (const auto& entry : fs::directory_iterator(source)) {
      const std::string name = entry.path().filename();
      if (name.find(part) == std::string::npos) continue;
      for (std::uintmax_t i = 0; i < count && entry.file_size() > 0; ++i) {
        const std::uintmax_t at = i * entry.file_size() / count;
        SCOPED_TRACE(name + " at " + std::to_string(at));
        ++outcomes[flipped(entry.path(), at, i % 2 == 0 ? 0x40 : 0x01)];
      }
    }
    EXPECT_EQ(outcomes[Outcome::kLost], 0);
    return outcomes;
  }

  TempDirectory directory_;
  RocksDbOptions options_;
};

struct FileRow {
  const char* part;
  std::uintmax_t places;
  bool matters;  // RocksDB reads it
};

TEST_F(FlippedByte, IsFoundInEveryFileThatIsReadAndHarmlessInTheOthers) {
  const fs::path source = write_store(true);
  for (const FileRow& row : {FileRow{"CURRENT", 4, true}, FileRow{"MANIFEST", 8, true}, FileRow{"OPTIONS", 2, false},
                             FileRow{"IDENTITY", 2, false}, FileRow{".sst", 6, true}}) {
    SCOPED_TRACE(row.part);
    auto outcomes = flip_all(source, row.part, row.places);
    const int found = outcomes[Outcome::kRefusedAtOpen] + outcomes[Outcome::kFoundByReading];
    EXPECT_GT(row.matters ? found : outcomes[Outcome::kUnaffected], 0);
    EXPECT_EQ(row.matters ? 0 : found, 0);
    if (std::string_view(row.part) != ".sst") continue;
    EXPECT_GE(outcomes[Outcome::kFoundByReading], static_cast<int>(kFamilyCount)) << "one file per family";
  }
}

// The way of a server that renews its replicas: what is damaged of them goes without being read, not even by a
// compaction; damage of what stays is found before anything is done.
TEST_F(FlippedByte, InAReplicaGoesWithTheReplica) {
  const fs::path source = write_store(true);
  int renewed = 0, refused = 0;
  for (const auto& entry : fs::directory_iterator(source)) {
    if (entry.path().extension() != ".sst") continue;
    SCOPED_TRACE(entry.path().filename());
    const fs::path victim = flip(entry.path(), 1, 0x40);  // in the first block of records
    options_.compact = false;
    const auto store = RocksDbStore::open(victim, options_);
    if (!store) continue;  // named, with what to do: see above
    const Result<void> stays = verify_what_stays(**store);
    if (!stays) {
      EXPECT_EQ(stays.error().code, Errc::kCorrupt);
      EXPECT_NE(stays.error().context.find(entry.path().filename()), std::string::npos) << stays.error().context;
      ++refused;
      continue;
    }
    for (const Family family : kReplicaFamilies) ASSERT_TRUE((*store)->clear(family));
    ASSERT_TRUE((*store)->resume_compactions());
    for (int round = 0; round < 12; ++round) {  // enough tables for compactions
      Batch batch;
      for (const Family family : kFamilies) batch.put(family, copy(view("key")), Bytes(100));
      ASSERT_TRUE((*store)->write(batch));
      ASSERT_TRUE((*store)->flush());
    }
    for (const auto& [place, value] : records()) {
      const auto read = (*store)->get(place.first, place.second);
      ASSERT_TRUE(read) << read.error().context;
      EXPECT_EQ(*read, is_replica(place.first) ? std::nullopt : std::optional(value));
    }
    ++renewed;
  }
  EXPECT_GE(renewed, 4) << "one file per family of a replica";
  EXPECT_GE(refused, 3) << "outbox, meta, control";
}

TEST_F(FlippedByte, IsFoundInTheLog) {
  auto outcomes = flip_all(write_store(false), ".log", 16);
  EXPECT_EQ(outcomes[Outcome::kRefusedAtOpen], 16);
}

// RocksDB alone takes these for the end that a crash leaves, and opens a store without what follows.
TEST_F(FlippedByte, InALengthIsNoTornEndWhereRecordsFollow) {
  constexpr std::uintmax_t kHighByteOfTheLength = 5;
  for (const bool into_tables : {true, false}) {
    const fs::path source = write_store(into_tables);
    for (const auto& entry : fs::directory_iterator(source)) {
      const bool manifest = entry.path().filename().string().starts_with("MANIFEST");
      if (into_tables ? !manifest : entry.path().extension() != ".log") continue;
      EXPECT_EQ(flipped(entry.path(), kHighByteOfTheLength, 0x40), Outcome::kRefusedAtOpen) << entry.path();
    }
    fs::remove_all(source);
  }
}

}  // namespace
}  // namespace godwit
