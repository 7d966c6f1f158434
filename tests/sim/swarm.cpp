#include "tests/sim/swarm.h"

#include <algorithm>
#include <array>

namespace godwit::sim {
namespace {

class Dice {
 public:
  explicit Dice(std::uint64_t seed) : random_(seed) {}
  std::uint32_t number(std::uint32_t low, std::uint32_t high) {
    return low + static_cast<std::uint32_t>(random_.below(high - low + 1));
  }
  bool chance(double probability) { return random_.chance(probability); }
  Duration millis(std::uint32_t low, std::uint32_t high) { return milliseconds(number(low, high)); }
  template <class T, std::size_t n>
  T pick(const std::array<T, n>& from) { return from[random_.below(n)]; }

 private:
  Random random_;
};

CodecSpec codec(Dice& dice) {
  return {dice.pick(std::array{CodecId::kFp32, CodecId::kBf16, CodecId::kInt8}), dice.chance(0.4)};
}

Manifest manifest(Dice& dice) {
  Manifest manifest;
  manifest.block_parameters = dice.number(8, 16);
  manifest.shards = dice.number(1, 3);
  const std::int64_t lossy = manifest.block_parameters * manifest.shards + dice.number(1, manifest.block_parameters);
  manifest.tensors = {{"weight", {lossy}, false}, {"norm", {dice.number(2, 6)}, true}};
  return manifest;
}

AckClass ack_class(Dice& dice) {
  const std::uint32_t roll = dice.number(0, 99);
  if (roll < 70) return AckClass::kRegion;
  if (roll < 82) return AckClass::kCommitted;
  return roll < 94 ? AckClass::kReplicated : AckClass::kMemory;
}

RunSettings run_settings(Dice& dice, std::uint32_t regions) {
  RunSettings run;
  run.regions = regions;
  run.ack = ack_class(dice);
  run.contribution_codec = codec(dice);
  run.update_codec = codec(dice);
  run.window_min = dice.millis(80, 200);
  run.window_max = run.window_min + dice.millis(0, 400);
  run.grace = dice.millis(200, 1200);
  run.sync_grace = dice.millis(1500, 4000);
  run.lease = dice.millis(1200, 3000);
  run.ack_max_delay = dice.millis(20, 400);
  run.retry_after = dice.millis(20, 200);
  run.outbox_items_max = dice.chance(0.4) ? dice.number(1, 4) : dice.number(8, 64);
  run.open_aggregates_max = dice.number(1, 4);
  run.waiting_pulls_max = dice.chance(0.1) ? 1 : 64;
  run.clip_free_pushes = dice.number(2, 20);
  run.clip_factor = dice.pick(std::array{1.0F, 1.5F, 10.0F});
  run.nesterov_steps_min = dice.number(2, 16);
  run.log_retained_versions = dice.number(2, 12);
  run.snapshot_versions = dice.number(3, 12);
  run.entry_cache_bytes = dice.chance(0.3) ? 0 : 1U << 20;
  run.pull_reply_bytes = dice.chance(0.3) ? 1 : 1U << 20;
  return run;
}

FaultRates fault_rates(Dice& dice, bool servers_may_crash) {
  FaultRates faults;
  if (dice.chance(0.05)) return faults;  // a calm run
  faults.mean_interval = dice.millis(250, 1500);
  faults.server_crashes = servers_may_crash && dice.chance(0.75);
  faults.crashes_in_writes = servers_may_crash && dice.chance(0.4);
  faults.disk_failures = servers_may_crash && dice.chance(0.25);
  faults.disks_lost = dice.chance(0.3);
  faults.worker_crashes = dice.chance(0.4);
  faults.cuts = dice.chance(0.6);
  faults.partitions = dice.chance(0.4);
  faults.isolations = dice.chance(0.3);
  faults.stalls = dice.chance(0.4);
  faults.one_way_cuts = dice.chance(0.3);
  faults.pauses = dice.chance(0.3);
  faults.absences = servers_may_crash && dice.chance(0.4);
  faults.control_crashes = dice.chance(0.3);
  faults.control_cuts = dice.chance(0.3);
  faults.control_messages = dice.chance(0.5);
  faults.clock_jumps = dice.chance(0.2);
  faults.wishes = dice.chance(0.3);
  faults.mode_switches = dice.chance(0.5);
  faults.restores = dice.chance(0.4);
  return faults;
}

}  // namespace

Swarm draw_swarm(std::uint64_t seed) {
  Dice dice(seed ^ 0x60D317ULL);
  Swarm swarm;
  swarm.seed = seed;
  const std::uint32_t regions = dice.chance(0.08) ? 1 : dice.number(2, 4);
  swarm.run = run_settings(dice, regions);
  swarm.manifest = manifest(dice);
  const std::uint32_t first_leader = dice.number(0, regions - 1);
  for (std::uint32_t shard = 0; shard < swarm.manifest.shards; ++shard) {
    swarm.leaders.push_back(RegionId((first_leader + shard) % regions));
  }
  for (std::uint32_t region = 0; region < regions; ++region) swarm.workers.push_back(dice.number(1, 3));
  swarm.lan_codec = {dice.chance(0.6) ? CodecId::kFp32 : CodecId::kBf16, dice.chance(0.3)};
  swarm.max_local_steps = dice.number(6, 40);
  swarm.pull_wait_ms = dice.chance(0.2) ? 100 : 2000;
  if (dice.chance(0.5)) {
    swarm.first_mode = {dice.chance(0.6) ? Mode::kSync : Mode::kAsync, ModeEpoch(1), dice.number(1, 6)};
  }
  swarm.region_delay_min = dice.millis(1, 60);
  swarm.region_delay_max = swarm.region_delay_min + dice.millis(1, 60);
  swarm.worker_delay_min = dice.millis(0, 2);
  swarm.worker_delay_max = swarm.worker_delay_min + dice.millis(0, 4);
  swarm.region_bytes_per_second = dice.chance(0.3) ? 4e3 : 1e6;
  swarm.disk_min = dice.millis(0, 1);
  swarm.disk_max = swarm.disk_min + dice.millis(1, 8);
  swarm.step_min = dice.millis(15, 40);
  swarm.step_max = swarm.step_min + dice.millis(0, 40);
  swarm.faulty_for = dice.millis(4000, 10000);
  swarm.faults = fault_rates(dice, swarm.run.ack != AckClass::kMemory);
  return swarm;
}

std::string describe(const Swarm& swarm) {
  static constexpr std::array<const char*, 4> kAck = {"memory", "region", "committed", "replicated"};
  std::string line = "seed " + std::to_string(swarm.seed) + ": regions " + std::to_string(swarm.run.regions) +
                     ", shards " + std::to_string(swarm.manifest.shards) + ", workers";
  for (const std::uint32_t workers : swarm.workers) line += " " + std::to_string(workers);
  line += std::string(", ack ") + kAck[static_cast<std::size_t>(swarm.run.ack)];
  line += ", codecs " + to_string(swarm.lan_codec) + " " + to_string(swarm.run.contribution_codec) + " " +
          to_string(swarm.run.update_codec);
  line += ", H " + std::to_string(swarm.first_mode.sync_steps);
  return line;
}

}  // namespace godwit::sim
