// The chaos figures: how a cluster of real processes fares with a fault every few seconds, against the same cluster
// left alone. What each figure means: README.md.
#pragma once

#include <map>
#include <string>

#include "bench/chaos/timeline.h"
#include "tests/history/checker.h"

namespace godwit::bench {

struct ChaosPlan {
  Duration duration = std::chrono::minutes(3);  // half of it left alone, half of it with faults
  std::uint64_t seed = 1;
  std::filesystem::path directory;  // where the clusters' folders lie
};

struct Growth {
  double memory_ratio = 0;  // resident at the end / at the start
  std::int64_t descriptors = 0;
};

// Of one run.
struct ChaosRun {
  double seconds = 0;            // that the workers trained
  double tokens_per_second = 0;  // in shard 0's log in the end
  std::vector<Injected> faults;
  std::vector<Recovery> recoveries;
  double longest_gap = 0;
  std::map<std::string, Growth> growth;  // by server
  bool hashes_equal = false;
  cli::OfflineReport audit;
  history::Report history;  // what the workers recorded, judged
  std::vector<std::string> complaints;  // that no fault explains: a process that ended by itself, ...
};

struct ChaosFigures {
  ChaosRun alone, faulty;
  double goodput_ratio() const { return faulty.tokens_per_second / alone.tokens_per_second; }
  // Nothing missing, nothing twice, replicas identical, nothing wrong in the histories, no complaint; in both runs.
  bool passed() const;
};

// Main thread. Errors: kClosed (interrupted), kTimedOut (a cluster that does not start, or does not settle; the
// folder is kept and named), kConfig, kIo. What happens is told on stderr.
Result<ChaosFigures> measure_chaos(const ChaosPlan& plan);

std::string chaos_table(const ChaosPlan& plan, const ChaosFigures& figures);
std::string chaos_json(const ChaosPlan& plan, const ChaosFigures& figures);

}  // namespace godwit::bench
