// Counters: what happened in a run. A batch of seeds asserts that each kind happened at least once:
// a fault that never fires proves nothing.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

namespace godwit::sim {

enum class Count : std::size_t {
  kEvents,
  kCommits,
  kRounds,
  kNesterov,
  kLate,
  kClipped,
  kDuplicatePushes,
  kDuplicateOffers,
  kJournals,
  kOverloads,
  kServerCrashes,
  kLeaderCrashes,
  kCrashesInWrites,
  kDiskFailures,
  kDisksLost,
  kRottenDisks,
  kRenewals,
  kWorkerCrashes,
  kCuts,
  kPartitions,
  kIsolations,
  kStalls,
  kOneWayCuts,
  kPauses,
  kAbsences,
  kControlCrashes,
  kControlCuts,
  kControlLost,
  kControlTwice,
  kClockJumps,
  kWishes,
  kModeSwitches,
  kCheckpoints,
  kRestoreWishes,
  kRestores,
  kDiscarded,
  kSnapshots,
  kInstalls,
  kPromotions,
  kDeposed,
  kForkedEntries,
  kInSyncShrinks,
  kInSyncGrows,
  kWorkerSnapshots,
  kReplayed,
  kAcknowledged,
  kKinds,
};

inline constexpr std::array<std::string_view, static_cast<std::size_t>(Count::kKinds)> kCountNames =
    {
        "events",         "commits",           "rounds",           "nesterov",   "late",
        "clipped",        "duplicate_pushes",  "duplicate_offers", "journals",   "overloads",
        "server_crashes", "leader_crashes", "crashes_in_writes", "disk_failures",    "disks_lost",
        "rotten_disks",   "renewals",          "worker_crashes",
        "cuts",           "partitions",        "isolations",       "stalls",     "one_way_cuts",
        "pauses",         "absences",          "control_crashes",  "control_cuts", "control_lost",
        "control_twice",  "clock_jumps",       "promotion_wishes", "mode_switches",
        "checkpoints",    "restore_wishes",    "restores",         "discarded",  "snapshots",
        "installs",       "promotions",        "deposed",          "forked_entries", "in_sync_shrinks",
        "in_sync_grows",  "worker_snapshots",  "replayed",         "acknowledged",
};

class Counters {
 public:
  std::uint64_t& operator[](Count kind) { return values_[static_cast<std::size_t>(kind)]; }
  std::uint64_t operator[](Count kind) const { return values_[static_cast<std::size_t>(kind)]; }
  void add(const Counters& other) {
    for (std::size_t i = 0; i < values_.size(); ++i) values_[i] += other.values_[i];
  }
  // "events=123 commits=4 ..."
  std::string summary() const {
    std::string line;
    for (std::size_t i = 0; i < values_.size(); ++i) {
      line += (i == 0 ? "" : " ") + std::string(kCountNames[i]) + "=" + std::to_string(values_[i]);
    }
    return line;
  }
  // The names of what never happened, or "".
  std::string missing() const {
    std::string names;
    for (std::size_t i = 0; i < values_.size(); ++i) {
      if (values_[i] == 0) names += (names.empty() ? "" : " ") + std::string(kCountNames[i]);
    }
    return names;
  }

 private:
  std::array<std::uint64_t, static_cast<std::size_t>(Count::kKinds)> values_{};
};

}  // namespace godwit::sim
