// FaultInjector: makes the planned faults happen, and ends them. It never takes the last server: at most one is
// out for longer than the lease, and a second one for a short time beside it.
#pragma once

#include <functional>
#include <optional>
#include <vector>

#include "bench/chaos/fault.h"
#include "bench/chaos/watcher.h"

namespace godwit::bench {

// A fault that happened. Regions are indexes.
struct Injected {
  FaultKind kind;
  TimePoint at;
  TimePoint until;
  std::size_t region = 0;      // of the process, or one end of the link
  std::size_t other = 0;       // the other end
  std::vector<std::size_t> led;  // shards whose leader it hit
};
// "leader_away us-west (shards 0, 1) for 7.3 s"
std::string describe(const Injected& fault, const ClusterConfig& config);

class FaultInjector {
 public:
  // All of them run already. They outlive this.
  FaultInjector(ChaosCluster& cluster, Watcher& watcher, std::vector<PlannedFault> plan, TimePoint start);

  // Ends what is over, begins what is due.
  void step(TimePoint now);
  // Ends everything, begins nothing any more.
  void heal_everything();
  // In the order in which they happened.
  const std::vector<Injected>& injected() const { return injected_; }

 private:
  struct Target {
    std::size_t region = 0, other = 0;
  };
  std::optional<Target> choose(const PlannedFault& planned) const;
  std::optional<Target> choose_link(std::uint64_t draw) const;
  std::vector<std::size_t> candidates(FaultKind kind) const;
  bool may_hit_server(FaultKind kind) const;
  void begin(const PlannedFault& planned, Target target, TimePoint now);
  void end(const Injected& fault);
  // As an operator would, once in a while: when the control host leads all shards, no other leader can be killed.
  void spread_leaders(TimePoint now);

  ChaosCluster& cluster_;
  Watcher& watcher_;
  std::vector<PlannedFault> plan_;
  std::size_t next_ = 0;  // of plan_
  TimePoint start_;
  TimePoint asked_to_lead_;
  std::vector<Injected> injected_;
  std::vector<Injected> lasting_;
};

}  // namespace godwit::bench
