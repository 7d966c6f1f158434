// Faults: what goes wrong while a run is young: at random moments, of the kinds that its swarm
// allows.
#pragma once

#include <memory>
#include <vector>

#include "tests/sim/server_node.h"
#include "tests/sim/worker_node.h"

namespace godwit::sim {

struct RegionPair {
  RegionId a, b;
  Link* link;
};

class Faults {
 public:
  struct World {
    Simulator& sim;
    const Swarm& swarm;
    Control& control;
    const Ledger& ledger;
    const bool& faulty;
    const std::vector<std::unique_ptr<ServerNode>>& servers;
    const std::vector<std::unique_ptr<WorkerNode>>& workers;
    const std::vector<RegionPair>& region_links;
    const std::vector<Link*>& worker_links;
  };
  explicit Faults(World world);

  // Injects until `faulty` is false.
  void schedule();
  // The run's mode changes now; each leader hears of it a little later.
  void switch_mode(Mode mode, std::uint32_t sync_steps);
  // A checkpoint of what is settled now; false while a shard has nothing.
  bool make_checkpoint();
  void restore(const Checkpoint& checkpoint);

 private:
  enum class Kind {
    kServerCrash,
    kDiskFailure,
    kDiskLost,
    kWorkerCrash,
    kCutRegions,
    kCutWorker,
    kPartition,
    kIsolation,
    kStall,
    kOneWayCut,
    kPause,
    kAbsence,
    kControlCrash,
    kControlCut,
    kClockJump,
    kWish,
    kModeSwitch,
    kCheckpoint,
    kRestore,
  };
  void inject(Kind kind);
  void isolate();
  void lose_disk();
  void cut_one_way();
  void wish();
  void restore_any();
  Duration beyond_lease() { return world_.sim.between(world_.swarm.run.lease / 2, world_.swarm.run.lease * 3); }
  RegionId any_region() { return RegionId(static_cast<std::uint32_t>(any(world_.servers.size()))); }
  std::size_t any(std::size_t count) { return world_.sim.random().below(count); }
  Duration outage() { return world_.sim.between(milliseconds(200), milliseconds(2500)); }

  World world_;
  std::vector<Kind> kinds_;  // allowed ones
};

}  // namespace godwit::sim
