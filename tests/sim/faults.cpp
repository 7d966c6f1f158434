#include "tests/sim/faults.h"

#include <algorithm>
#include <cmath>

namespace godwit::sim {

Faults::Faults(World world) : world_(world) {
  const FaultRates& rates = world_.swarm.faults;
  const bool several = world_.servers.size() > 1;
  const auto allow = [this](bool allowed, Kind kind) {
    if (allowed) kinds_.push_back(kind);
  };
  allow(rates.server_crashes, Kind::kServerCrash);
  allow(rates.disk_failures, Kind::kDiskFailure);
  allow(rates.disks_lost && several, Kind::kDiskLost);
  allow(rates.worker_crashes, Kind::kWorkerCrash);
  allow(rates.cuts && several, Kind::kCutRegions);
  allow(rates.cuts, Kind::kCutWorker);
  allow(rates.partitions && several, Kind::kPartition);
  allow(rates.isolations && several, Kind::kIsolation);
  allow(rates.stalls && several, Kind::kStall);
  allow(rates.mode_switches, Kind::kModeSwitch);
}

void Faults::schedule() {
  if (kinds_.empty()) return;
  const double mean = to_seconds(world_.swarm.faults.mean_interval);
  const double wait = -mean * std::log(1.0 - world_.sim.random().uniform());
  world_.sim.after(std::chrono::duration_cast<Duration>(std::chrono::duration<double>(wait)),
                   [this] {
                     if (!world_.faulty) return;
                     inject(kinds_[any(kinds_.size())]);
                     schedule();
                   });
}

void Faults::inject(Kind kind) {
  Counters& counters = world_.sim.counters();
  switch (kind) {
    case Kind::kServerCrash:
      return world_.servers[any(world_.servers.size())]->crash();
    case Kind::kDiskFailure:
      return world_.servers[any(world_.servers.size())]->break_disk();
    case Kind::kDiskLost:
      return lose_disk();
    case Kind::kWorkerCrash:
      return world_.workers[any(world_.workers.size())]->crash();
    case Kind::kCutRegions:
      ++counters[Count::kCuts];
      return world_.region_links[any(world_.region_links.size())].link->cut();
    case Kind::kCutWorker:
      ++counters[Count::kCuts];
      return world_.worker_links[any(world_.worker_links.size())]->cut();
    case Kind::kPartition:
      ++counters[Count::kPartitions];
      return world_.region_links[any(world_.region_links.size())].link->block(world_.sim.now() +
                                                                              outage());
    case Kind::kIsolation:
      return isolate();
    case Kind::kStall:
      ++counters[Count::kStalls];
      return world_.region_links[any(world_.region_links.size())].link->stall(outage() / 2);
    case Kind::kModeSwitch:
      return switch_mode(world_.sim.random().chance(0.5) ? Mode::kSync : Mode::kAsync,
                         1 + static_cast<std::uint32_t>(any(6)));
  }
}

// The workers there hold acknowledged pushes that nobody has: they start again as well.
void Faults::lose_disk() {
  const auto region = static_cast<std::uint32_t>(any(world_.servers.size()));
  const auto& leaders = world_.swarm.leaders;
  if (std::find(leaders.begin(), leaders.end(), RegionId(region)) != leaders.end()) return;
  if (!world_.servers[region]->alive()) return;
  world_.servers[region]->lose_disk();
  std::uint32_t first = 0;
  for (std::uint32_t other = 0; other < region; ++other) first += world_.swarm.workers[other];
  for (std::uint32_t i = 0; i < world_.swarm.workers[region]; ++i)
    world_.workers[first + i]->crash();
}

void Faults::isolate() {
  ++world_.sim.counters()[Count::kIsolations];
  const RegionId alone(static_cast<std::uint32_t>(any(world_.servers.size())));
  const TimePoint until = world_.sim.now() + outage();
  for (const RegionPair& pair : world_.region_links) {
    if (pair.a == alone || pair.b == alone) pair.link->block(until);
  }
}

void Faults::switch_mode(Mode mode, std::uint32_t sync_steps) {
  world_.control.mode = {mode, world_.control.mode.mode_epoch.next(), sync_steps};
  world_.sim.record("mode", static_cast<std::uint64_t>(mode),
                    world_.control.mode.mode_epoch.value(), sync_steps);
  for (const auto& server : world_.servers) {
    world_.sim.after(world_.sim.between(milliseconds(0), milliseconds(600)),
                     [node = server.get()] { node->learn_mode(); });
  }
}

}  // namespace godwit::sim
