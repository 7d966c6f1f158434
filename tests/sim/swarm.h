// Swarm: the settings of one simulated run, drawn from its seed. Every seed is another cluster, with some
// faults switched on and others off, and limits small enough to be met.
#pragma once

#include <cstdint>
#include <vector>

#include "server/core/leader.h"
#include "server/core/settings.h"
#include "shared/base/random.h"
#include "shared/protocol/manifest.h"

namespace godwit::sim {

struct FaultRates {
  Duration mean_interval = milliseconds(700);
  bool server_crashes = false;
  bool crashes_in_writes = false;
  bool disk_failures = false;
  bool disks_lost = false;       // of regions that lead nothing
  bool worker_crashes = false;
  bool cuts = false;
  bool partitions = false;
  bool isolations = false;
  bool stalls = false;
  bool one_way_cuts = false;
  bool pauses = false;           // of processes, beyond the lease
  bool absences = false;         // of servers, beyond the lease
  bool control_crashes = false;
  bool control_cuts = false;     // between a region and the control store
  bool control_messages = false; // to and from it: late, twice, never
  bool clock_jumps = false;      // of the control store
  bool wishes = false;           // an operator wants another leader
  bool mode_switches = false;
  bool restores = false;         // of checkpoints
};

struct Swarm {
  std::uint64_t seed = 0;
  RunSettings run;
  Manifest manifest;
  std::vector<RegionId> leaders;                // per shard
  std::vector<std::uint32_t> workers;           // per region
  CodecSpec lan_codec;
  std::uint32_t max_local_steps = 0;
  std::uint32_t pull_wait_ms = 0;
  ModeSetting first_mode;                       // mode_epoch 0: nobody sets it
  Duration region_delay_min{}, region_delay_max{};
  Duration worker_delay_min{}, worker_delay_max{};
  double region_bytes_per_second = 0;
  Duration disk_min{}, disk_max{};              // of a synced write
  Duration step_min{}, step_max{};
  FaultRates faults;
  Duration faulty_for{};                        // how long faults are injected
};

Swarm draw_swarm(std::uint64_t seed);
// One line for people.
std::string describe(const Swarm& swarm);

}  // namespace godwit::sim
