#include "server/cli/offline_audit.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <fstream>
#include <iterator>

namespace godwit::cli {
namespace {

constexpr std::size_t kListedMax = 5;  // pushes listed of each kind; the numbers count all

std::string place(ShardId shard, Version version) {
  return "shard " + to_string(shard) + " version " + to_string(version);
}

// Lists the first few pushes of a kind.
void list(const std::set<ShardPush>& pushes, const std::string& what,
          std::vector<std::string>& faults) {
  std::size_t listed = 0;
  for (const ShardPush& push : pushes) {
    if (listed++ == kListedMax) break;
    faults.push_back(to_string(push) + " " + what);
  }
  if (pushes.size() > kListedMax)
    faults.push_back(std::to_string(pushes.size() - kListedMax) + " more " + what);
}

const StoredLog* log_of(const ReplicaAudit& replica, ShardId shard) {
  const auto found = replica.logs().find(shard);
  return found == replica.logs().end() ? nullptr : &found->second;
}

// Compares the replicas of a shard at the newest version that all have.
ShardVerdict compare(const std::vector<ReplicaAudit>& replicas, ShardId shard,
                     std::vector<std::string>& faults) {
  ShardVerdict verdict{shard, Version(UINT64_MAX), Version(), Version(), true};
  for (const ReplicaAudit& replica : replicas) {
    const StoredLog* const log = log_of(replica, shard);
    verdict.common = std::min(verdict.common, log ? log->last() : Version());
    if (log != nullptr && log->last() > verdict.last) {
      verdict.first = log->first();
      verdict.last = log->last();
    }
  }
  if (verdict.common == Version()) {
    verdict.identical = false;
    faults.push_back("shard " + to_string(shard) + ": a replica holds no entry at all");
    return verdict;
  }
  const StoredLog& first = *log_of(replicas.front(), shard);
  for (const ReplicaAudit& replica : replicas) {
    for (const auto& [version, hash] : log_of(replica, shard)->entries) {
      const auto other = first.entries.find(version);
      if (version > verdict.common || other == first.entries.end() || other->second == hash)
        continue;
      faults.push_back(place(shard, version) + ": " + replicas.front().region() + " and " +
                       replica.region() + " hold different entries");
      verdict.identical = false;
      break;
    }
    if (log_of(replica, shard)->entries.contains(verdict.common)) continue;
    faults.push_back(place(shard, verdict.common) + ": " + replica.region() +
                     " no longer holds it");
    verdict.identical = false;
  }
  return verdict;
}

// The longest log of a shard: the one to count rounds in.
const StoredLog* longest_log(const std::vector<ReplicaAudit>& replicas, ShardId shard) {
  const StoredLog* longest = nullptr;
  for (const ReplicaAudit& replica : replicas) {
    const StoredLog* const log = log_of(replica, shard);
    if (log != nullptr && (longest == nullptr || log->last() > longest->last())) longest = log;
  }
  return longest;
}

std::set<ShardPush> difference(const std::set<ShardPush>& all, const auto& without) {
  std::set<ShardPush> rest;
  std::ranges::copy_if(all, std::inserter(rest, rest.end()),
                       [&](const ShardPush& push) { return !without.contains(push); });
  return rest;
}

void count_pushes(const std::vector<ReplicaAudit>& replicas,
                  const std::set<ShardPush>& acknowledged, OfflineReport& report) {
  std::map<ShardPush, std::set<Version>> named;
  std::set<ShardPush> twice;
  std::set<ShardPush> in_outbox;
  for (const ReplicaAudit& replica : replicas) {
    for (const auto& [push, versions] : replica.named())
      named[push].insert(versions.begin(), versions.end());
    twice.insert(replica.twice_in_one().begin(), replica.twice_in_one().end());
    in_outbox.insert(replica.in_outbox().begin(), replica.in_outbox().end());
  }
  for (const auto& [push, versions] : named) {
    if (versions.size() > 1) twice.insert(push);
  }
  const std::set<ShardPush> missing = difference(acknowledged, named);
  report.pushes_acknowledged = acknowledged.size();
  report.pushes_in_log = named.size();
  report.pushes_twice = twice.size();
  report.pushes_missing = missing.size();
  report.pushes_in_outbox = missing.size() - difference(missing, in_outbox).size();
  list(twice, "is named twice", report.faults);
  list(missing, "was acknowledged and is named nowhere", report.faults);
}

}  // namespace

std::string to_string(const ShardPush& push) {
  return "push of shard " + to_string(push.shard) + ", worker " + to_string(push.id.worker) +
         ", incarnation " + to_string(push.id.incarnation) + ", sequence " +
         to_string(push.id.sequence);
}

void ReplicaAudit::on_snapshot_block(ShardId shard, std::uint32_t block, Version version,
                                     Hash state) {
  snapshots_[{shard, version}].push_back({block, state});
}

void ReplicaAudit::on_entry(const EntryHeader& header, Hash hash) {
  StoredLog& log = logs_[header.shard];
  Cursor& cursor = cursors_[header.shard];
  if (check_place(header, log)) cursor.blocks.clear();
  if (header.kind == EntryKind::kRound)
    ++(header.mode == Mode::kSync ? log.rounds_sync : log.rounds_async);
  if (!log.entries.empty() && header.mode != cursor.mode) ++log.mode_switches;
  cursor.mode = header.mode;
  if (!header.blocks.empty()) cursor.blocks = header.blocks;
  log.tokens = header.total_tokens;
  log.entries[header.version] = hash;
  check_snapshots(header, cursor);
  for (const Named& named : header.contributions) {
    for (const Member& member : named.members) {
      const ShardPush push{header.shard, member.id};
      if (!named_[push].insert(header.version).second) twice_in_one_.insert(push);
    }
  }
}

bool ReplicaAudit::check_place(const EntryHeader& header, const StoredLog& log) {
  const std::string where = place(header.shard, header.version);
  if (log.entries.empty()) {
    if (header.version == Version(1) && header.previous != Hash())
      fault(where + ": claims an entry before the first");
    return true;
  }
  const bool begins = header.version != log.last().next();
  if (begins && pins_.contains({header.shard, log.last()})) return true;  // what lay between was not needed
  if (begins) {
    fault(where + ": follows version " + to_string(log.last()) + ", versions are missing");
  } else if (header.previous != log.entries.rbegin()->second) {
    fault(where + ": does not carry the hash of the entry before it");
  }
  return begins;
}

void ReplicaAudit::check_snapshots(const EntryHeader& header, const Cursor& cursor) {
  const auto found = snapshots_.find({header.shard, header.version});
  if (found == snapshots_.end() || cursor.blocks.empty()) return;
  for (const SnapshotBlock& stored : found->second) {
    ++snapshot_blocks_checked_;
    if (stored.block < cursor.blocks.size() && cursor.blocks[stored.block].state == stored.state)
      continue;
    fault(place(header.shard, header.version) + " block " + std::to_string(stored.block) +
          ": the snapshot's values are not those of the log");
  }
}

void ReplicaAudit::on_push_record(ShardId shard, const PushId& id, Version version,
                                  Verdict /*verdict*/) {
  const ShardPush push{shard, id};
  const auto log = logs_.find(shard);
  const bool kept = log != logs_.end() && log->second.entries.contains(version);
  const auto named = named_.find(push);
  if (kept && (named == named_.end() || !named->second.contains(version))) {
    fault(place(shard, version) + ": a record says that it names the " + to_string(push) +
          ", it does not");
  }
  if (log == logs_.end() || version > log->second.last()) {
    fault(place(shard, version) + ": a record of the " + to_string(push) + " is ahead of the log");
  }
  named_[push].insert(version);
}

void ReplicaAudit::on_outbox_member(ShardId shard, const PushId& id) {
  in_outbox_.insert({shard, id});
}

OfflineReport audit(const std::vector<ReplicaAudit>& replicas, std::uint32_t shards,
                    const std::set<ShardPush>& acknowledged) {
  OfflineReport report;
  for (const ReplicaAudit& replica : replicas) {
    report.faults.insert(report.faults.end(), replica.faults().begin(), replica.faults().end());
    report.snapshot_blocks_checked += replica.snapshot_blocks_checked();
  }
  report.replicas_identical = !replicas.empty();
  for (std::uint32_t shard = 0; shard < shards && !replicas.empty(); ++shard) {
    report.shards.push_back(compare(replicas, ShardId(shard), report.faults));
    report.replicas_identical = report.replicas_identical && report.shards.back().identical;
    report.versions += report.shards.back().last.value();
  }
  if (const StoredLog* const clock = longest_log(replicas, ShardId(0))) {
    report.rounds_async = clock->rounds_async;
    report.rounds_sync = clock->rounds_sync;
    report.mode_switches = clock->mode_switches;
    report.tokens = clock->tokens;
  }
  count_pushes(replicas, acknowledged, report);
  return report;
}

Result<void> read_acknowledgements(const std::filesystem::path& file,
                                   std::set<ShardPush>& acknowledged) {
  std::ifstream in(file, std::ios::binary);
  if (!in) return Error{Errc::kNotFound, file.string() + " cannot be read"};
  std::size_t number = 0;
  for (std::string line; std::getline(in, line) && !in.eof();) {
    ++number;
    std::array<std::uint64_t, 4> fields{};
    const char* at = line.data();
    const char* const end = line.data() + line.size();
    bool good = true;
    for (std::size_t i = 0; i < fields.size() && good; ++i) {
      const auto [next, error] = std::from_chars(at, end, fields[i]);
      const bool last = i + 1 == fields.size();
      good = error == std::errc() && (last ? next == end : next != end && *next == ' ');
      at = last ? next : next + 1;
    }
    if (!good || fields[0] > UINT32_MAX) {
      return Error{Errc::kMalformed, file.string() + ":" + std::to_string(number) +
                                         ": not \"<shard> <worker> <incarnation> <sequence>\""};
    }
    acknowledged.insert(
        {ShardId(static_cast<std::uint32_t>(fields[0])),
         PushId{WorkerId(fields[1]), Incarnation(fields[2]), SequenceNo(fields[3])}});
  }
  return {};
}

}  // namespace godwit::cli
