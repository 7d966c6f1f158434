// OfflineAudit: what the stores of a stopped cluster prove. Versions dense, every entry carrying
// the hash of the one before, replicas equal, and every acknowledged push named exactly once. It
// counts ids itself and believes no table.
#pragma once

#include <map>
#include <set>
#include <string>
#include <vector>

#include "server/cli/offline_reader.h"

namespace godwit::cli {

struct ShardPush {
  ShardId shard;
  PushId id;
  auto operator<=>(const ShardPush&) const = default;
};
std::string to_string(const ShardPush& push);

// What one replica's log holds of one shard.
struct StoredLog {
  std::map<Version, Hash> entries;  // what is kept of the log: version -> hash of its entry
  std::uint64_t rounds_async = 0;
  std::uint64_t rounds_sync = 0;
  std::uint64_t mode_switches = 0;
  std::uint64_t tokens = 0;
  Version first() const { return entries.empty() ? Version() : entries.begin()->first; }
  Version last() const { return entries.empty() ? Version() : entries.rbegin()->first; }
};

// One server's store, as it is read.
class ReplicaAudit final : public StoreVisitor {
 public:
  explicit ReplicaAudit(std::string region) : region_(std::move(region)) {}

  void on_pin(ShardId shard, Version version) override { pins_.insert({shard, version}); }
  void on_snapshot_block(ShardId shard, std::uint32_t block, Version version, Hash state) override;
  void on_entry(const EntryHeader& header, Hash hash) override;
  void on_push_record(ShardId shard, const PushId& id, Version version, Verdict verdict) override;
  void on_outbox_member(ShardId shard, const PushId& id) override;
  void on_damage(const std::string& text) override { fault(text); }

  const std::string& region() const { return region_; }
  const std::map<ShardId, StoredLog>& logs() const { return logs_; }
  const std::map<ShardPush, std::set<Version>>& named() const {
    return named_;
  }  // more than one version: twice
  const std::set<ShardPush>& twice_in_one() const { return twice_in_one_; }
  const std::set<ShardPush>& in_outbox() const { return in_outbox_; }
  const std::vector<std::string>& faults() const { return faults_; }
  std::uint64_t snapshot_blocks_checked() const { return snapshot_blocks_checked_; }

 private:
  // Where reading a shard's log has come to.
  struct Cursor {
    Mode mode = Mode::kAsync;
    std::vector<BlockUpdate> blocks;  // the newest ones
  };
  struct SnapshotBlock {
    std::uint32_t block;
    Hash state;
  };
  void fault(const std::string& text) { faults_.push_back(region_ + ": " + text); }
  // True when the entry begins a new section of the log.
  bool check_place(const EntryHeader& header, const StoredLog& log);
  void check_snapshots(const EntryHeader& header, const Cursor& cursor);

  std::string region_;
  std::map<ShardId, StoredLog> logs_;
  std::map<ShardId, Cursor> cursors_;
  std::set<std::pair<ShardId, Version>> pins_;
  std::map<std::pair<ShardId, Version>, std::vector<SnapshotBlock>> snapshots_;
  std::map<ShardPush, std::set<Version>> named_;
  std::set<ShardPush> twice_in_one_;
  std::set<ShardPush> in_outbox_;
  std::vector<std::string> faults_;
  std::uint64_t snapshot_blocks_checked_ = 0;
};

struct ShardVerdict {
  ShardId shard;
  Version common;       // the newest version that every replica holds
  Version first, last;  // of the longest log
  bool identical = false;
};

struct OfflineReport {
  std::vector<ShardVerdict> shards;
  bool replicas_identical = false;
  std::uint64_t pushes_acknowledged = 0;
  std::uint64_t pushes_in_log = 0;
  std::uint64_t pushes_missing = 0;    // acknowledged, and named in no log
  std::uint64_t pushes_in_outbox = 0;  // of the missing: they wait in an outbox
  std::uint64_t pushes_twice = 0;
  std::uint64_t versions = 0;      // all shards together
  std::uint64_t rounds_async = 0;  // of shard 0's log, like the three below
  std::uint64_t rounds_sync = 0;
  std::uint64_t mode_switches = 0;
  std::uint64_t tokens = 0;
  std::uint64_t snapshot_blocks_checked = 0;
  std::vector<std::string> faults;  // in words, the first ones of each kind

  bool passed() const {
    return replicas_identical && pushes_missing == 0 && pushes_twice == 0 && faults.empty();
  }
};

// `shards`: how many the cluster has.
OfflineReport audit(const std::vector<ReplicaAudit>& replicas, std::uint32_t shards,
                    const std::set<ShardPush>& acknowledged);

// Adds the acknowledgements of a worker's file: "<shard> <worker> <incarnation> <sequence>" a line.
// A last line without its end was being written when the worker died: it does not count. Errors:
// kNotFound, kMalformed.
Result<void> read_acknowledgements(const std::filesystem::path& file,
                                   std::set<ShardPush>& acknowledged);

}  // namespace godwit::cli
