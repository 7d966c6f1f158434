// Cluster: a whole run of one seed: regions, workers, links, faults, and the checks at its end.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "tests/sim/faults.h"
#include "tests/sim/server_node.h"
#include "tests/sim/worker_node.h"

namespace godwit::sim {

struct Outcome {
  std::string failure;  // "": every check held
  std::uint64_t hash = 0;
  Counters counters;
  Duration virtual_time{};
};

class Cluster {
 public:
  Cluster(std::uint64_t seed, bool trace);
  Cluster(const Cluster&) = delete;
  Cluster& operator=(const Cluster&) = delete;

  // Faults for a while, then a healthy cluster that must make progress in both modes and come to rest.
  Outcome run();

 private:
  void build();
  void run_for(Duration duration);
  // Runs until `done` or fails the run, naming what was waited for.
  template <class Done>
  void await(const std::string& what, Duration limit, Done done);
  void expect_rounds(Mode mode);
  void expect_restored();
  void expect_rest();
  std::string unrest();  // why it is not at rest yet, or ""
  std::string shard_unrest(ShardId shard);

  Swarm swarm_;
  Simulator sim_;
  Layout layout_;
  bool faulty_ = true;
  Ledger ledger_;
  Control control_;
  std::vector<std::unique_ptr<ServerNode>> servers_;
  std::vector<std::unique_ptr<WorkerNode>> workers_;
  std::vector<std::unique_ptr<Link>> links_;
  std::vector<RegionPair> region_links_;
  std::vector<Link*> worker_links_;
  std::unique_ptr<Faults> faults_;
};

// Builds and runs one seed; a bug that aborts the process still names the command that reproduces it.
Outcome run_seed(std::uint64_t seed, bool trace = false);

}  // namespace godwit::sim
