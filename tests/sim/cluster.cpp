#include "tests/sim/cluster.h"

#include <unistd.h>

#include <algorithm>
#include <csignal>
#include <cstdio>

namespace godwit::sim {
namespace {

// A run of less proves little.
constexpr std::uint64_t kCommitsAtLeast = 20;  // of all shards
constexpr std::uint64_t kEventsAtLeast = 500;

char reproduce[96] = "";

void on_abort(int) {
  const std::string_view text = reproduce;
  [[maybe_unused]] const auto written = write(STDERR_FILENO, text.data(), text.size());
}

}  // namespace

Cluster::Cluster(std::uint64_t seed, bool trace)
    : swarm_(draw_swarm(seed)),
      sim_(seed, trace),
      layout_(swarm_.manifest),
      ledger_(sim_, swarm_, layout_),
      control_(sim_, swarm_, ledger_, faulty_) {
  build();
}

void Cluster::build() {
  const std::uint32_t regions = swarm_.run.regions;
  for (std::uint32_t region = 0; region < regions; ++region) {
    servers_.push_back(std::make_unique<ServerNode>(
        ServerNode::World{sim_, swarm_, control_, ledger_, faulty_}, RegionId(region)));
  }
  const Link::Quality ocean{swarm_.region_delay_min, swarm_.region_delay_max,
                            swarm_.region_bytes_per_second};
  for (std::uint32_t a = 0; a < regions; ++a) {
    for (std::uint32_t b = 0; b < a; ++b) {
      links_.push_back(std::make_unique<Link>(sim_, *servers_[a], *servers_[b], ocean));
      servers_[a]->connect({false, b}, *links_.back());
      servers_[b]->connect({false, a}, *links_.back());
      region_links_.push_back({RegionId(a), RegionId(b), links_.back().get()});
    }
  }
  const Link::Quality lan{swarm_.worker_delay_min, swarm_.worker_delay_max, 1e8};
  for (std::uint32_t region = 0; region < regions; ++region) {
    for (std::uint32_t i = 0; i < swarm_.workers[region]; ++i) {
      const auto index = static_cast<std::uint32_t>(workers_.size());
      workers_.push_back(
          std::make_unique<WorkerNode>(WorkerNode::World{sim_, swarm_, ledger_, layout_}, index));
      links_.push_back(std::make_unique<Link>(sim_, *workers_.back(), *servers_[region], lan));
      workers_.back()->connect(*links_.back());
      servers_[region]->connect({true, index}, *links_.back());
      worker_links_.push_back(links_.back().get());
    }
  }
  faults_ = std::make_unique<Faults>(Faults::World{
      sim_, swarm_, control_, ledger_, faulty_, servers_, workers_, region_links_, worker_links_});
}

Outcome Cluster::run() {
  if (sim_.tracing()) sim_.trace(describe(swarm_));
  if (swarm_.first_mode.mode_epoch != ModeEpoch())
    faults_->switch_mode(swarm_.first_mode.mode, swarm_.first_mode.sync_steps);
  for (auto& server : servers_) {
    sim_.after(sim_.between(milliseconds(0), milliseconds(200)),
               [node = server.get()] { node->start(); });
  }
  for (auto& worker : workers_) {
    sim_.after(sim_.between(milliseconds(0), milliseconds(400)),
               [node = worker.get()] { node->start(); });
  }
  faults_->schedule();
  run_for(swarm_.faulty_for);
  faulty_ = false;
  sim_.record("healed");
  expect_restored();
  const Mode second = sim_.random().chance(0.5) ? Mode::kAsync : Mode::kSync;
  expect_rounds(second == Mode::kAsync ? Mode::kSync : Mode::kAsync);
  expect_rounds(second);
  await("commits and events", seconds(40), [this] {
    const Counters& counters = sim_.counters();
    const bool enough = counters[Count::kCommits] >= kCommitsAtLeast && counters[Count::kEvents] >= kEventsAtLeast;
    return enough ? std::string() : std::string("too few");
  });
  expect_rest();
  return {sim_.failure(), sim_.hash(), sim_.counters(), sim_.now().time_since_epoch()};
}

void Cluster::run_for(Duration duration) {
  bool over = false;
  sim_.after(duration, [&over] { over = true; });
  while (!over && sim_.run_one()) {
  }
}

template <class Done>
void Cluster::await(const std::string& what, Duration limit, Done done) {
  const TimePoint until = sim_.now() + limit;
  std::string missing;
  while (sim_.failure().empty()) {
    missing = done();
    if (missing.empty()) return;
    if (sim_.now() > until)
      return sim_.fail("no " + what + " within " + std::to_string(to_seconds(limit)) +
                       " s: " + missing);
    const TimePoint before = sim_.now();
    while (sim_.now() < before + milliseconds(20) && sim_.run_one()) {
    }
  }
}

// What was asked for last is done. A leader that does not keep the checkpoint cannot: an operator takes a fresh one.
void Cluster::expect_restored() {
  TimePoint again = sim_.now() + seconds(10);
  await("restore", seconds(60), [&]() -> std::string {
    for (std::uint32_t id = 0; id < layout_.shards.size(); ++id) {
      if (ledger_.settled_restore(ShardId(id)) == control_.restore().epoch) continue;
      if (sim_.now() >= again && faults_->make_checkpoint()) {
        faults_->restore(CheckpointList::decode(control_.item(control_keys::kRunCheckpoints).value)->items.back());
        again = sim_.now() + seconds(10);
      }
      return "shard " + std::to_string(id);
    }
    return "";
  });
}

void Cluster::expect_rounds(Mode mode) {
  faults_->switch_mode(mode, 1 + static_cast<std::uint32_t>(sim_.random().below(4)));
  await("switch of mode", seconds(40), [&]() -> std::string {
    for (std::uint32_t id = 0; id < layout_.shards.size(); ++id) {
      if (ledger_.mode_epoch(ShardId(id)) != control_.mode().mode_epoch)
        return "shard " + std::to_string(id);
    }
    return "";
  });
  std::vector<Round> start;
  for (std::uint32_t id = 0; id < layout_.shards.size(); ++id)
    start.push_back(ledger_.round(ShardId(id)));
  sim_.record("expect rounds", static_cast<std::uint64_t>(mode));
  await(mode == Mode::kSync ? "rounds in sync" : "rounds in async", seconds(40),
        [&]() -> std::string {
          for (std::uint32_t id = 0; id < layout_.shards.size(); ++id) {
            if (ledger_.round(ShardId(id)).value() < start[id].value() + 3) {
              return "shard " + std::to_string(id) + " went from round " + to_string(start[id]) +
                     " to " + to_string(ledger_.round(ShardId(id)));
            }
          }
          return "";
        });
}

void Cluster::expect_rest() {
  sim_.record("expect rest");
  for (auto& worker : workers_) worker->finish();
  await("rest", seconds(40), [this] { return unrest(); });
  if (sim_.failure().empty()) ledger_.check_all_named();
}

std::string Cluster::unrest() {
  for (std::size_t i = 0; i < workers_.size(); ++i) {
    if (!workers_[i]->settled()) {
      return "worker " + std::to_string(i) + " has something that is not in the model: waits " +
             (workers_[i]->core() ? workers_[i]->core()->must_wait() : "to start");
    }
  }
  for (const auto& server : servers_) {
    if (!server->alive()) return "server " + to_string(server->region()) + " is down";
  }
  for (std::uint32_t id = 0; id < layout_.shards.size(); ++id) {
    if (std::string why = shard_unrest(ShardId(id)); !why.empty()) return why;
  }
  return "";
}

std::string Cluster::shard_unrest(ShardId shard) {
  const InSync in_sync = control_.record(shard).record.in_sync;
  if (in_sync.size() != servers_.size())
    return "shard " + to_string(shard) + ": a replica is not in sync";
  const Version head = ledger_.head(shard);
  for (const auto& server : servers_) {
    const ShardCore& replica = server->core()->shard(shard);
    const std::string where =
        "shard " + to_string(shard) + " in region " + to_string(server->region());
    if (replica.state().version() != head)
      return where + " is at version " + to_string(replica.state().version());
    if (replica.watermark() != head) {
      return where + ": the watermark is " + to_string(replica.watermark()) + " of " +
             to_string(head);
    }
    if (replica.status().outbox_items != 0) return where + ": the outbox is not empty";
  }
  return "";
}

Outcome run_seed(std::uint64_t seed, bool trace) {
  std::snprintf(reproduce, sizeof(reproduce), "reproduce: godwit-sim --seed %llu --trace\n",
                static_cast<unsigned long long>(seed));
  std::signal(SIGABRT, on_abort);
  Cluster cluster(seed, trace);
  Outcome outcome = cluster.run();
  if (!outcome.failure.empty()) outcome.failure += "\n" + std::string(reproduce);
  return outcome;
}

}  // namespace godwit::sim
