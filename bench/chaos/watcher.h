// Watcher: asks every server of a ChaosCluster for its status, again and again, on a thread each, and writes
// down what changed and when.
//
// Any thread.
#pragma once

#include <atomic>
#include <memory>
#include <mutex>
#include <optional>
#include <thread>
#include <vector>

#include "bench/chaos/chaos_cluster.h"

namespace godwit::bench {

struct ShardSample {
  std::uint64_t epoch = 0;
  std::uint64_t version = 0;
  std::uint64_t watermark = 0;
  std::uint64_t tokens = 0;
  std::uint64_t outbox_items = 0;
  bool leads = false;
  std::size_t leader = 0;         // region
  std::vector<std::size_t> in_sync;
  bool operator==(const ShardSample&) const = default;
};

// What a server said, from `at` on until its next sample.
struct Sample {
  TimePoint at;
  std::vector<ShardSample> shards;  // empty: it has no model
  std::vector<bool> links_up;       // by region
};

// Of one server, in order of time.
using History = std::vector<Sample>;

class Watcher {
 public:
  // `cluster` outlives this.
  explicit Watcher(const ChaosCluster& cluster);
  ~Watcher();
  Watcher(const Watcher&) = delete;
  Watcher& operator=(const Watcher&) = delete;

  // A server that is not to be asked: it is dead or stopped.
  void set_silent(std::size_t region, bool silent) { observed_[region]->silent = silent; }
  // By region.
  std::vector<History> histories() const;
  // What the server said last, were it before its death.
  std::optional<Sample> latest(std::size_t region) const;
  // The region that leads by the newest word of it.
  std::optional<std::size_t> leader_of(std::size_t shard) const;

 private:
  struct Observed {
    std::atomic<bool> silent{false};
    mutable std::mutex mutex;  // guards the one below
    History history;
    std::thread thread;
  };
  void watch(std::size_t region);
  Sample sample_of(const cli::ServerView& view) const;

  const ChaosCluster& cluster_;
  std::atomic<bool> stopped_{false};
  std::vector<std::unique_ptr<Observed>> observed_;
};

}  // namespace godwit::bench
