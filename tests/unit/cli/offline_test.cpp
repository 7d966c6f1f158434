// The offline reader on stores with planted faults: each must be found and named.
#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <rocksdb/db.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <fstream>
#include <functional>

#include "server/cli/offline_audit.h"
#include "tests/unit/cli/store_maker.h"
#include "tests/unit/storage/temp_directory.h"

namespace godwit::cli {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

class OfflineTest : public testing::Test {
 protected:
  // A store that `fill` has written, read back.
  ReplicaAudit replica(const std::string& region, const std::function<void(StoreMaker&)>& fill) {
    const auto directory = temporary.path() / region;
    {
      StoreMaker maker(directory);
      fill(maker);
    }
    return read(region);
  }
  ReplicaAudit read(const std::string& region) {
    ReplicaAudit audit(region);
    const auto result = read_store(temporary.path() / region, audit);
    EXPECT_TRUE(result) << result.error().to_string();
    return audit;
  }
  OfflineReport one(const std::function<void(StoreMaker&)>& fill,
                    const std::set<ShardPush>& acknowledged = {}) {
    return audit({replica("us-west", fill)}, 1, acknowledged);
  }
  static ShardPush push(std::uint64_t worker, std::uint64_t sequence) {
    return {ShardId(0), push_id(worker, sequence)};
  }

  TempDirectory temporary;
};

void three_versions(StoreMaker& maker) {
  maker.add({.kind = EntryKind::kInitial, .pushes = {push_id(1, 1)}});
  maker.add({.pushes = {push_id(1, 2), push_id(2, 1)}});
  maker.add({.pushes = {push_id(1, 3)}});
}

TEST_F(OfflineTest, ASoundClusterPasses) {
  const std::vector<ReplicaAudit> replicas = {replica("us-west", three_versions),
                                              replica("eu", three_versions)};
  const OfflineReport report = audit(replicas, 1, {push(1, 1), push(2, 1)});
  EXPECT_TRUE(report.passed());
  EXPECT_THAT(report.faults, IsEmpty());
  EXPECT_TRUE(report.replicas_identical);
  EXPECT_EQ(report.versions, 3U);
  EXPECT_EQ(report.rounds_async, 2U);
  EXPECT_EQ(report.tokens, 300U);
  EXPECT_EQ(report.pushes_in_log, 4U);
  EXPECT_EQ(report.pushes_acknowledged, 2U);
  EXPECT_EQ(report.pushes_missing, 0U);
}

TEST_F(OfflineTest, RoundsAndSwitchesAreCounted) {
  const OfflineReport report = one([](StoreMaker& maker) {
    maker.add({.kind = EntryKind::kInitial});
    maker.add();
    maker.add({.kind = EntryKind::kMode, .mode = Mode::kSync, .payload = false});
    maker.add({.mode = Mode::kSync});
    maker.add({.mode = Mode::kSync});
    maker.add({.kind = EntryKind::kLate, .mode = Mode::kSync});
    maker.add({.kind = EntryKind::kMode, .payload = false});
  });
  EXPECT_TRUE(report.passed());
  EXPECT_EQ(report.rounds_async, 1U);
  EXPECT_EQ(report.rounds_sync, 2U);
  EXPECT_EQ(report.mode_switches, 2U);
}

TEST_F(OfflineTest, AnAcknowledgedPushThatIsNamedNowhereIsMissing) {
  const OfflineReport report = one(three_versions, {push(1, 1), push(9, 9)});
  EXPECT_FALSE(report.passed());
  EXPECT_EQ(report.pushes_missing, 1U);
  EXPECT_EQ(report.pushes_in_outbox, 0U);
  EXPECT_THAT(report.faults,
              ElementsAre(HasSubstr("worker 9, incarnation 1, sequence 9 was acknowledged")));
}

TEST_F(OfflineTest, AMissingPushMayWaitInAnOutbox) {
  const OfflineReport report = one(
      [](StoreMaker& maker) {
        three_versions(maker);
        Contribution waiting;
        waiting.header.sequence = SequenceNo(7);
        waiting.header.members = {Member{push_id(9, 9), 1, 1, 100, 1, Verdict::kApplied}};
        maker.put(Family::kOutbox, records::outbox_key(ShardId(0), SequenceNo(7)),
                  records::encode_contribution(waiting));
        maker.put(Family::kOutbox, records::journal_key(ShardId(0)), Bytes(5));
      },
      {push(9, 9)});
  EXPECT_EQ(report.pushes_missing, 1U);
  EXPECT_EQ(report.pushes_in_outbox, 1U);
}

TEST_F(OfflineTest, APushNamedInTwoEntriesIsFound) {
  const OfflineReport report = one([](StoreMaker& maker) {
    three_versions(maker);
    maker.add({.pushes = {push_id(1, 2)}, .push_records = false});
  });
  EXPECT_EQ(report.pushes_twice, 1U);
  EXPECT_THAT(report.faults, ElementsAre(HasSubstr("sequence 2 is named twice")));
}

TEST_F(OfflineTest, APushNamedTwiceInOneEntryIsFound) {
  const OfflineReport report = one([](StoreMaker& maker) {
    maker.add({.pushes = {push_id(1, 1), push_id(1, 1)}});
  });
  EXPECT_EQ(report.pushes_twice, 1U);
}

TEST_F(OfflineTest, ReplicasThatNameAPushAtDifferentVersionsNameItTwice) {
  const auto first = replica("us-west", [](StoreMaker& maker) {
    maker.add({.pushes = {push_id(1, 1)}});
    maker.add();
  });
  const auto second = replica("eu", [](StoreMaker& maker) {
    maker.add();
    maker.add({.pushes = {push_id(1, 1)}});
  });
  EXPECT_EQ(audit({first, second}, 1, {}).pushes_twice, 1U);
}

TEST_F(OfflineTest, PushesOfEntriesThatAreNoLongerKeptStillCount) {
  const OfflineReport report = one(
      [](StoreMaker& maker) {
        three_versions(maker);
        maker.erase(Family::kLog, records::commit_key(ShardId(0), Version(1)));
        maker.erase(Family::kLog, records::payload_key(ShardId(0), Version(1), 0));
      },
      {push(1, 1)});
  EXPECT_TRUE(report.passed()) << testing::PrintToString(report.faults);
  EXPECT_EQ(report.pushes_in_log, 4U);
}

TEST_F(OfflineTest, APushRecordThatNoEntryBearsOutIsFound) {
  const OfflineReport report = one([](StoreMaker& maker) {
    three_versions(maker);
    maker.put(Family::kPushes, records::push_key(ShardId(0), push_id(5, 5)),
              records::encode_push_record(Version(2), Verdict::kApplied));
    maker.put(Family::kPushes, records::push_key(ShardId(0), push_id(6, 6)),
              records::encode_push_record(Version(9), Verdict::kApplied));
  });
  EXPECT_THAT(report.faults, ElementsAre(HasSubstr("it does not"), HasSubstr("ahead of the log")));
}

TEST_F(OfflineTest, AGapInTheVersionsIsFound) {
  const OfflineReport report = one([](StoreMaker& maker) {
    maker.add();
    maker.add({.skip_versions = 1});
  });
  EXPECT_THAT(report.faults,
              ElementsAre("us-west: shard 0 version 3: follows version 1, versions are missing"));
}

TEST_F(OfflineTest, WhatACheckpointPinsMayStandAlone) {
  const OfflineReport report = one([](StoreMaker& maker) {
    three_versions(maker);
    maker.add({.stored_payload = Bytes(1), .skip_versions = 4});  // of a snapshot: its updates are gone
    maker.erase(Family::kLog, records::payload_key(ShardId(0), Version(8), 0));
    maker.add({.kind = EntryKind::kMode, .payload = false});
    maker.put(Family::kMeta, records::meta_key('c', ShardId(0)), records::encode_pins({{Version(3), Hash()}}));
  });
  EXPECT_THAT(report.faults, IsEmpty());
}

TEST_F(OfflineTest, ABrokenChainIsFound) {
  const OfflineReport report = one([](StoreMaker& maker) {
    maker.add();
    maker.add({.chain_damage = Hash(1)});
  });
  EXPECT_THAT(report.faults,
              ElementsAre(HasSubstr("version 2: does not carry the hash of the entry before it")));
  const auto first = replica("eu", [](StoreMaker& maker) { maker.add({.chain_damage = Hash(1)}); });
  EXPECT_THAT(first.faults(), ElementsAre(HasSubstr("claims an entry before the first")));
}

TEST_F(OfflineTest, AnotherPayloadThanWasCommittedIsFound) {
  const OfflineReport report = one([](StoreMaker& maker) {
    maker.add();
    maker.add({.stored_payload = Bytes(12)});
  });
  EXPECT_THAT(
      report.faults,
      ElementsAre(HasSubstr("version 2 block 0: the update is not the one that was committed")));
}

TEST_F(OfflineTest, AMissingPayloadIsFound) {
  const OfflineReport report = one([](StoreMaker& maker) {
    maker.add();
    maker.erase(Family::kLog, records::payload_key(ShardId(0), Version(1), 0));
  });
  EXPECT_THAT(report.faults, ElementsAre(HasSubstr("version 1 block 0: the update is missing")));
}

TEST_F(OfflineTest, ALogThatASnapshotReplacedBeginsWithoutPayloads) {
  const OfflineReport report = one([](StoreMaker& maker) {
    maker.add();
    maker.add();
    maker.add();
    maker.erase(Family::kLog, records::payload_key(ShardId(0), Version(1), 0));
    maker.erase(Family::kLog, records::commit_key(ShardId(0), Version(1)));
    maker.erase(Family::kLog, records::payload_key(ShardId(0), Version(2), 0));
  });
  EXPECT_THAT(report.faults, ElementsAre());
}

TEST_F(OfflineTest, PayloadsWithoutACommitRecordAreNoFault) {
  const OfflineReport report = one([](StoreMaker& maker) {
    maker.add();
    maker.put(Family::kLog, records::payload_key(ShardId(0), Version(2), 0), Bytes(12));
  });
  EXPECT_TRUE(report.passed());
}

TEST_F(OfflineTest, AnEntryFiledUnderAnotherVersionIsFound) {
  const OfflineReport report = one([](StoreMaker& maker) {
    EntryHeader header = maker.add({.payload = false});
    maker.put(Family::kLog, records::commit_key(ShardId(0), Version(2)), header.encode());
  });
  EXPECT_THAT(report.faults,
              ElementsAre(HasSubstr("version 2: holds the entry of shard 0 version 1")));
}

TEST_F(OfflineTest, SnapshotsAreHeldAgainstTheLog) {
  const auto put = [](StoreMaker& maker, std::uint32_t block, Version version,
                      const std::vector<float>& values) {
    maker.put(Family::kSnapshot, records::snapshot_key(ShardId(0), 1, block),
              records::encode_snapshot_block(version, values, {}));
  };
  const OfflineReport good = one([&](StoreMaker& maker) {
    three_versions(maker);
    put(maker, 0, Version(2), StoreMaker::values_at(Version(2)));
  });
  EXPECT_TRUE(good.passed());
  EXPECT_EQ(good.snapshot_blocks_checked, 1U);
  const auto bad = replica("eu", [&](StoreMaker& maker) {
    three_versions(maker);
    put(maker, 0, Version(2), StoreMaker::values_at(Version(3)));
  });
  EXPECT_THAT(
      bad.faults(),
      ElementsAre(HasSubstr("version 2 block 0: the snapshot's values are not those of the log")));
}

TEST_F(OfflineTest, ReplicasThatDifferAreFound) {
  const auto first = replica("us-west", three_versions);
  const auto second = replica("eu", [](StoreMaker& maker) {
    maker.add({.kind = EntryKind::kInitial, .pushes = {push_id(1, 1)}});
    maker.add({.pushes = {push_id(1, 2), push_id(2, 1)}, .flavour = 1});
  });
  const OfflineReport report = audit({first, second}, 1, {});
  EXPECT_FALSE(report.replicas_identical);
  EXPECT_THAT(report.faults,
              ElementsAre("shard 0 version 2: us-west and eu hold different entries"));
}

TEST_F(OfflineTest, AReplicaThatIsBehindIsComparedWhereItStands) {
  const auto first = replica("us-west", three_versions);
  const auto second = replica("eu", [](StoreMaker& maker) {
    maker.add({.kind = EntryKind::kInitial, .pushes = {push_id(1, 1)}});
  });
  const OfflineReport report = audit({first, second}, 1, {});
  EXPECT_TRUE(report.passed());
  EXPECT_EQ(report.shards[0].common, Version(1));
}

TEST_F(OfflineTest, AShardThatNobodyHasIsNotIdentical) {
  EXPECT_FALSE(audit({replica("us-west", three_versions)}, 2, {}).replicas_identical);
  EXPECT_FALSE(audit({}, 1, {}).replicas_identical);
}

TEST_F(OfflineTest, DamageBelowTheStoreIsFound) {
  const auto directory = temporary.path() / "us-west";
  { StoreMaker(directory).add(); }
  std::vector<std::string> names;
  ASSERT_TRUE(rocksdb::DB::ListColumnFamilies({}, directory.string(), &names).ok());
  std::vector<rocksdb::ColumnFamilyDescriptor> families;
  for (const auto& name : names) families.emplace_back(name, rocksdb::ColumnFamilyOptions());
  std::vector<rocksdb::ColumnFamilyHandle*> handles;
  rocksdb::DB* database = nullptr;
  ASSERT_TRUE(rocksdb::DB::Open({}, directory.string(), families, &handles, &database).ok());
  const std::string value = "a value without a valid seal";
  for (auto* handle : handles) {
    if (handle->GetName() == "pushes") {
      EXPECT_TRUE(database->Put({}, handle, std::string(28, 'k'), value).ok());
    }
    EXPECT_TRUE(database->DestroyColumnFamilyHandle(handle).ok());
  }
  delete database;
  EXPECT_THAT(read("us-west").faults(), ElementsAre(HasSubstr("the value fails its checksum")));
}

TEST_F(OfflineTest, AMissingStoreIsNamed) {
  ReplicaAudit audit("us-west");
  const auto result = read_store(temporary.path() / "absent", audit);
  ASSERT_FALSE(result);
  EXPECT_EQ(result.error().code, Errc::kNotFound);
}

TEST_F(OfflineTest, AStoreInUseIsRefused) {
  const auto directory = temporary.path() / "us-west";
  { StoreMaker(directory).add(); }
  int ready[2];
  ASSERT_EQ(::pipe(ready), 0);
  const pid_t child = ::fork();  // a lock is only seen from another process
  if (child == 0) {
    const int file = ::open((directory / "LOCK").c_str(), O_RDWR);
    struct flock lock {};
    lock.l_type = F_WRLCK;
    lock.l_whence = SEEK_SET;
    const char held = ::fcntl(file, F_SETLK, &lock) == 0 ? 'y' : 'n';
    (void)!::write(ready[1], &held, 1);
    ::pause();
    ::_exit(0);
  }
  char held = 0;
  ASSERT_EQ(::read(ready[0], &held, 1), 1);
  EXPECT_EQ(held, 'y');
  ReplicaAudit audit("us-west");
  const auto result = read_store(directory, audit);
  ::kill(child, SIGKILL);
  ::waitpid(child, nullptr, 0);
  ASSERT_FALSE(result);
  EXPECT_EQ(result.error().code, Errc::kConflict);
}

TEST_F(OfflineTest, AcknowledgementFilesAreReadStrictly) {
  const auto file = temporary.path() / "acknowledgements.txt";
  std::set<ShardPush> acknowledged;
  std::ofstream(file)
      << "0 18446744073709551615 1 1\n3 5 1 2\n0 5 1 1\n0 5 1 1\n0 5 1 7";  // the last one was cut
  ASSERT_TRUE(read_acknowledgements(file, acknowledged));
  EXPECT_EQ(acknowledged.size(), 3U);
  EXPECT_TRUE(acknowledged.contains({ShardId(3), push_id(5, 2)}));
  for (const char* bad :
       {"0 5 1\n", "0 5 1 1 1\n", "0  5 1 1\n", "a 5 1 1\n", "99999999999 5 1 1\n", "\n"}) {
    std::ofstream(file) << bad;
    const auto result = read_acknowledgements(file, acknowledged);
    ASSERT_FALSE(result) << bad;
    EXPECT_THAT(result.error().context, HasSubstr("acknowledgements.txt:1:"));
  }
  EXPECT_EQ(read_acknowledgements(temporary.path() / "absent", acknowledged).error().code,
            Errc::kNotFound);
}

}  // namespace
}  // namespace godwit::cli
