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
  allow(rates.one_way_cuts && several, Kind::kOneWayCut);
  allow(rates.pauses, Kind::kPause);
  allow(rates.absences, Kind::kAbsence);
  allow(rates.control_crashes, Kind::kControlCrash);
  allow(rates.control_cuts, Kind::kControlCut);
  allow(rates.clock_jumps, Kind::kClockJump);
  allow(rates.wishes && several, Kind::kWish);
  allow(rates.mode_switches, Kind::kModeSwitch);
  allow(rates.restores, Kind::kCheckpoint);
  allow(rates.restores, Kind::kRestore);
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
    case Kind::kOneWayCut:
      return cut_one_way();
    case Kind::kPause:
      ++counters[Count::kPauses];
      return world_.servers[any(world_.servers.size())]->pause(beyond_lease());
    case Kind::kAbsence:
      ++counters[Count::kAbsences];
      return world_.servers[any(world_.servers.size())]->crash(world_.swarm.run.lease,
                                                               world_.swarm.run.lease * 3);
    case Kind::kControlCrash:
      return world_.control.crash();
    case Kind::kControlCut:
      ++counters[Count::kControlCuts];
      return world_.control.block(any_region(), world_.sim.now() + beyond_lease());
    case Kind::kClockJump:
      ++counters[Count::kClockJumps];
      return world_.control.jump(world_.sim.between(milliseconds(500), world_.swarm.run.lease * 2));
    case Kind::kWish:
      return wish();
    case Kind::kModeSwitch:
      return switch_mode(world_.sim.random().chance(0.5) ? Mode::kSync : Mode::kAsync,
                         1 + static_cast<std::uint32_t>(any(6)));
    case Kind::kCheckpoint:
      make_checkpoint();
      return;
    case Kind::kRestore:
      return restore_any();
  }
}

// The workers there hold acknowledged pushes that nobody has: they start again as well. A leader
// whose change of the set is under way might be losing the last member with it.
void Faults::lose_disk() {
  const RegionId region = any_region();
  const ServerNode& server = *world_.servers[region.value()];
  if (!server.alive() || !world_.ledger.can_lose_disk(region)) return;
  for (std::uint32_t shard = 0; shard < server.core()->shard_count(); ++shard) {
    const ShardCore& core = server.core()->shard(ShardId(shard));
    if (core.proposes() || core.record() != world_.control.record(ShardId(shard)).record) return;
  }
  // A crash may take the numbers of contributions back where nothing is synced: only a new disk numbers anew.
  const bool durable = world_.swarm.run.ack != AckClass::kMemory;
  if (durable && world_.sim.random().chance(0.5)) return world_.servers[region.value()]->rot();
  world_.servers[region.value()]->lose_disk();
  std::uint32_t first = 0;
  for (std::uint32_t other = 0; other < region.value(); ++other)
    first += world_.swarm.workers[other];
  for (std::uint32_t i = 0; i < world_.swarm.workers[region.value()]; ++i)
    world_.workers[first + i]->crash();
}

void Faults::cut_one_way() {
  ++world_.sim.counters()[Count::kOneWayCuts];
  const RegionPair& pair = world_.region_links[any(world_.region_links.size())];
  const RegionId from = world_.sim.random().chance(0.5) ? pair.a : pair.b;
  pair.link->block_one_way(*world_.servers[from.value()], world_.sim.now() + beyond_lease());
}

// As `godwit promote` does it.
void Faults::wish() {
  const ShardId shard(static_cast<std::uint32_t>(any(world_.swarm.leaders.size())));
  const HeldRecord held = world_.control.record(shard);
  if (held.record.in_sync.size() < 2) return;
  const auto wanted = std::next(held.record.in_sync.begin(),
                                static_cast<std::ptrdiff_t>(any(held.record.in_sync.size())));
  const ShardRecord next = held.record.led_by(wanted->first);
  ++world_.sim.counters()[Count::kWishes];
  world_.control.ask(swap_record(shard, next, held.revision));
}

void Faults::isolate() {
  ++world_.sim.counters()[Count::kIsolations];
  const RegionId alone = any_region();
  const TimePoint until = world_.sim.now() + outage();
  for (const RegionPair& pair : world_.region_links) {
    if (pair.a == alone || pair.b == alone) pair.link->block(until);
  }
}

bool Faults::make_checkpoint() {
  Checkpoint checkpoint;
  for (std::uint32_t shard = 0; shard < world_.swarm.leaders.size(); ++shard) {
    checkpoint.shards.push_back(world_.ledger.settled(ShardId(shard)));
    if (checkpoint.shards.back().version == Version()) return false;
  }
  checkpoint.automatic = world_.sim.random().chance(0.7);
  const ControlItem held = world_.control.item(control_keys::kRunCheckpoints);
  CheckpointList list = held.value.empty() ? CheckpointList() : *CheckpointList::decode(held.value);
  list.add(checkpoint, 2);
  ++world_.sim.counters()[Count::kCheckpoints];
  world_.control.set(held, list.encode());
  return true;
}

void Faults::restore_any() {
  const ControlItem held = world_.control.item(control_keys::kRunCheckpoints);
  if (held.value.empty()) return;
  const CheckpointList list = *CheckpointList::decode(held.value);
  restore(list.items[any(list.items.size())]);
}

void Faults::restore(const Checkpoint& checkpoint) {
  const ControlItem held = world_.control.item(control_keys::kRunRestore);
  const RestoreEpoch last = held.value.empty() ? RestoreEpoch() : RestoreSetting::decode(held.value)->epoch;
  ++world_.sim.counters()[Count::kRestoreWishes];
  world_.sim.record("restore", checkpoint.id, last.next().value());
  world_.control.set(held, RestoreSetting{last.next(), checkpoint.id, checkpoint.shards}.encode());
}

void Faults::switch_mode(Mode mode, std::uint32_t sync_steps) {
  const ControlItem held = world_.control.item(control_keys::kRunMode);
  const ModeSetting next{mode, world_.control.mode().mode_epoch.next(), sync_steps};
  world_.sim.record("mode", static_cast<std::uint64_t>(mode), next.mode_epoch.value(), sync_steps);
  world_.control.set(held, next.encode());
}

}  // namespace godwit::sim
