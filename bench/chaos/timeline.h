// Timeline: what the histories of all servers say together: when shards made progress, how long after a fault,
// and how long they stood still. Pure. The figures' definitions: README.md.
#pragma once

#include <optional>
#include <vector>

#include "bench/chaos/fault_injector.h"

namespace godwit::bench {

struct Recovery {
  FaultKind kind{};
  double seconds = 0;
  // Parts of it, where there are such.
  std::optional<double> detect, decide, transfer, resume;
};

class Timeline {
 public:
  // `histories`: by region, up to `end`.
  Timeline(std::vector<History> histories, std::size_t shards, TimePoint end);

  // The time until the end where it did not recover.
  Recovery recovery(const Injected& fault) const;
  // The longest time between `start` and `stop` in which a shard got no new version although two regions were well
  // and heard each other all the while.
  double longest_gap(const std::vector<Health>& health, TimePoint start, TimePoint stop) const;

 private:
  struct Line {  // the log of a leader, from its first word on
    std::uint64_t epoch = 0, version = 0, tokens = 0;
  };
  void add(std::size_t shard, const ShardSample& sample, TimePoint at, Line& line);
  TimePoint work_after(std::size_t shard, TimePoint at) const;
  std::uint64_t epoch_before(std::size_t shard, TimePoint at) const;
  // When servers showed an epoch above `epoch`: the first one, and a second one.
  std::vector<TimePoint> epoch_seen(std::size_t shard, std::uint64_t epoch, TimePoint after) const;
  std::optional<TimePoint> link_down(const Injected& fault) const;
  std::optional<TimePoint> went_down(std::size_t at_region, std::size_t to_region, TimePoint after) const;

  std::vector<History> histories_;
  TimePoint end_;
  std::vector<std::vector<TimePoint>> versions_, work_;  // by shard: new versions, and those with new tokens
};

// By nearest rank; 0 of nothing.
double percentile(std::vector<double> values, double percent);

}  // namespace godwit::bench
