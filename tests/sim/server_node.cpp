#include "tests/sim/server_node.h"

#include <algorithm>

#include "server/core/recovery.h"
#include "server/core/renewal.h"

namespace godwit::sim {
namespace {

constexpr std::uint32_t kTicksAtOnce = 64;
constexpr double kCrashPerStep = 0.004;  // at each point between two writes, or a write and a send

struct EntryAt {
  ShardId shard;
  Version version;
};

// What on_drained() reports of a message, once it has left.
std::optional<EntryAt> entry_of(const Message& message) {
  if (const auto* replicate = std::get_if<Replicate>(&message)) {
    return EntryAt{replicate->shard, replicate->entry.header.version};
  }
  const auto* install = std::get_if<Install>(&message);
  if (install == nullptr || view(install->snapshot.entry).empty()) return std::nullopt;
  return EntryAt{install->shard, EntryHeader::decode(view(install->snapshot.entry))->version};
}

WorkerId worker_id(Endpoint peer) { return WorkerId(peer.index + 1); }

}  // namespace

void ServerNode::start() {
  if (core_) return;
  ++life_;
  read_records();
}

void ServerNode::ask(const ControlRequest& request,
                     const std::function<void(const ControlReply&)>& answer) {
  world_.control.request(region_, request,
                         [this, life = life_, turn = ++turn_, answer](const ControlReply& reply) {
                           if (life == life_ && turn == turn_) answer(reply);
                         });
  world_.sim.after(milliseconds(700), [this, life = life_, turn = turn_] {
    if (life == life_ && turn == turn_) read_records();  // no answer: begin again
  });
}

void ServerNode::read_records() {
  ControlRequest list;
  list.kind = ControlKind::kList;
  list.key = std::string(control_keys::kShards);
  ask(list, [this](const ControlReply& reply) {
    if (reply.error) return;
    const Result<Incarnation> replica = replica_incarnation(*store_, incarnation_);
    place_ = {region_, incarnation_, *replica, {}, {}};
    for (const RegionId leader : world_.swarm.leaders) {
      place_.records.push_back({{leader, {}, {}, {}}, Revision()});
      place_.leads.push_back(false);
    }
    for (const ControlItem& item : reply.items) {
      const auto shard = control_keys::parse_id(item.key, control_keys::kShards, "/leader");
      place_.records[*shard] = {*ShardRecord::decode(item.value), item.revision};
    }
    claim_next();
  });
}

void ServerNode::claim_next() {
  for (std::uint32_t shard = 0; shard < place_.records.size(); ++shard) {
    HeldRecord& held = place_.records[shard];
    if (place_.leads[shard]) continue;
    const auto claim = claim_at_start(held, world_.swarm.leaders[shard], region_, place_.replica,
                                      world_.swarm.run.ack == AckClass::kMemory);
    if (!claim) return;  // asked again later
    if (!*claim) continue;
    return ask(swap_record(ShardId(shard), **claim, held.revision),
               [this, shard, next = **claim](const ControlReply& r) {
                 if (r.error) return read_records();
                 place_.records[shard] = {next, r.items.front().revision};
                 place_.leads[shard] = next.leader == region_;
                 claim_next();
               });
  }
  open();
}

void ServerNode::open() {
  ++turn_;
  if (damaged_) return renew(ShardId());
  Result<std::unique_ptr<RegionCore>> opened =
      RegionCore::open(world_.swarm.run, *store_, world_.swarm.manifest, place_, world_.sim.now());
  damaged_ = rotten_ && !opened && opened.error().code == Errc::kCorrupt;
  if (damaged_) return renew(ShardId());
  if (!opened)
    return world_.sim.fail("server " + to_string(region_) +
                           " cannot recover: " + opened.error().to_string());
  core_ = std::move(*opened);
  rotten_ = false;
  world_.sim.record("server starts", region_.value(), life_);
  if (std::exchange(ever_started_, true)) world_.ledger.on_recovered(region_, *core_, *store_);
  enqueue([](RegionCore& core, TimePoint now) { return core.start(now); });
  for (const auto& [peer, link] : links_) link->dial();
  polled_ = {};
  poll();
}

void ServerNode::poll() {
  ControlRequest list;
  list.kind = ControlKind::kList;
  list.since_revision = polled_;
  world_.control.request(region_, list, [this, life = life_](const ControlReply& reply) {
    if (life != life_) return;
    tell(reply);
    polled_ = std::max(polled_, reply.revision);
  });
  const TimePoint again = std::max(
      asleep_until_, world_.sim.now() + world_.sim.between(milliseconds(50), milliseconds(300)));
  world_.sim.after(again - world_.sim.now(), [this, life = life_] {
    if (life == life_) poll();
  });
}

void ServerNode::tell(const ControlReply& reply) {
  for (const ControlItem& item : reply.items) {
    if (world_.sim.tracing()) {
      world_.sim.trace("control -> server " + to_string(region_) + ": " + item.key +
                       " at revision " + to_string(item.revision) +
                       (item.value.empty() ? ", vacant" : ""));
    }
    enqueue([item](RegionCore& core, TimePoint now) { return core.on_control(item, now); });
  }
}

void ServerNode::crash(Duration away_min, Duration away_max) {
  if (!core_) return;
  ++life_;
  world_.sim.record("server dies", region_.value(), life_);
  ++world_.sim.counters()[Count::kServerCrashes];
  bool leads = false;
  for (std::uint32_t shard = 0; shard < core_->shard_count(); ++shard) leads |= core_->shard(ShardId(shard)).leads();
  if (leads) ++world_.sim.counters()[Count::kLeaderCrashes];
  core_.reset();
  inbox_.clear();
  busy_ = false;
  tick_at_.reset();
  asleep_until_ = {};
  store_->crash(world_.sim.random());
  for (const auto& [peer, link] : links_) link->end_died(*this);
  world_.sim.after(world_.sim.between(away_min, away_max), [this, life = life_] {
    if (life == life_) start();
  });
}

void ServerNode::lose_disk() {
  if (!core_) return;
  world_.sim.record("disk lost", region_.value());
  ++world_.sim.counters()[Count::kDisksLost];
  crash();
  store_ = std::make_unique<MemoryStore>();
  incarnation_ = newest_ = newest_.next();
  ever_started_ = false;
  world_.ledger.on_disk_lost(region_);
}

void ServerNode::rot() {
  if (!core_) return;
  world_.sim.record("disk rots", region_.value());
  crash();
  if (!flip_byte()) return;
  ++world_.sim.counters()[Count::kRottenDisks];
  rotten_ = true;
  newest_ = newest_.next();
  world_.ledger.on_disk_rotten(region_);
}

// Of an entry that recovery replays.
bool ServerNode::flip_byte() {
  Random& random = world_.sim.random();
  const Layout layout(world_.swarm.manifest);
  const ShardId shard(static_cast<std::uint32_t>(random.below(layout.shards.size())));
  const ShardLayout& cut = layout.shards[shard.value()];
  const Result<Recovered> healthy = recover_shard(*store_, shard, cut, std::nullopt);
  if (!healthy) return world_.sim.fail("the disk was damaged before: " + healthy.error().to_string()), false;
  if (healthy->replayed == 0) return false;
  const Version version(healthy->state.version().value() - random.below(healthy->replayed));
  const Bytes key = records::payload_key(shard, version, 0);
  const Result<std::optional<Bytes>> stored = store_->get(Family::kLog, key);
  if (!stored || !*stored || (*stored)->empty()) return false;  // an entry without payloads
  Bytes value = **stored;
  value[random.below(value.size())] ^= std::byte{1} << random.below(8);
  Batch batch;
  batch.put(Family::kLog, key, std::move(value));
  batch.sync = true;
  if (!store_->write(batch)) return false;
  const Result<Recovered> rotten = recover_shard(*store_, shard, cut, std::nullopt);
  if (rotten || rotten.error().code != Errc::kCorrupt)
    world_.sim.fail("recovery takes a flipped byte of version " + to_string(version) + " for good");
  return true;
}

// As server/core/renewal.h says, shard by shard; a crash in between begins again.
void ServerNode::renew(ShardId shard) {
  if (shard.value() == place_.records.size()) return drop_replicas();
  HeldRecord& held = place_.records[shard.value()];
  const Result<ShardRecord> next = left_by(region_, shard, held.record);
  if (!next) return world_.sim.fail("a rotten disk cannot be renewed: " + next.error().to_string());
  if (held.revision == Revision() || *next == held.record) return renew(shard.next());
  ask(swap_record(shard, *next, held.revision), [this, shard, next = *next](const ControlReply& reply) {
    if (reply.error) return read_records();
    place_.records[shard.value()] = {next, reply.items.front().revision};
    renew(shard.next());
  });
}

void ServerNode::drop_replicas() {
  Random& random = world_.sim.random();
  if (!store_->write(replica_renamed(newest_))) return;
  for (const Family family : kReplicaFamilies) {
    Batch all;
    all.erase_range(family, Bytes(), Bytes(64, std::byte{0xff}));
    if (!store_->write(all)) return;
    if (!random.chance(0.1)) continue;
    store_->crash(random);
    damaged_ = random.chance(0.5);  // else the mark was not on the disk yet
    return read_records();
  }
  std::vector<Epoch> epochs;
  for (const HeldRecord& held : place_.records) epochs.push_back(held.record.epoch);
  if (!store_->write(replica_dropped(epochs))) return;
  ++world_.sim.counters()[Count::kRenewals];
  rotten_ = damaged_ = false;
  read_records();
}

void ServerNode::break_disk() {
  if (!core_) return;
  world_.sim.record("disk fails", region_.value());
  store_->fail_writes({Errc::kIo, "the simulated disk fails"});
}

void ServerNode::pause(Duration duration) {
  if (!core_) return;
  world_.sim.record("server sleeps", region_.value());
  asleep_until_ = world_.sim.now() + duration;
  world_.sim.after(kHeartbeatLimit, [this, life = life_] {
    if (life != life_ || answers()) return;
    for (const auto& [peer, link] : links_) link->cut();
  });
}

void ServerNode::on_up(Endpoint peer) {
  if (peer.worker) return;
  enqueue([id = RegionId(peer.index)](RegionCore& core, TimePoint now) {
    return core.on_region_connected(id, now);
  });
}

void ServerNode::on_down(Endpoint peer) {
  if (peer.worker) {
    enqueue([id = worker_id(peer)](RegionCore& core, TimePoint now) {
      return core.on_worker_left(id, now);
    });
  } else {
    enqueue([id = RegionId(peer.index)](RegionCore& core, TimePoint now) {
      return core.on_region_disconnected(id, now);
    });
  }
}

void ServerNode::on_delivery(Endpoint peer, const Message& message) {
  if (peer.worker) {
    enqueue([id = worker_id(peer), message](RegionCore& core, TimePoint now) {
      return core.on_message(id, message, now);
    });
  } else {
    enqueue([id = RegionId(peer.index), message](RegionCore& core, TimePoint now) {
      return core.on_message(id, message, now);
    });
  }
}

void ServerNode::enqueue(Event event) {
  if (!core_) return;
  inbox_.push_back(std::move(event));
  pump();
}

// Events are handled one at a time, and the next one only when the effects of the last are
// performed.
void ServerNode::pump() {
  if (busy_ || inbox_.empty()) return;
  busy_ = true;
  world_.sim.after(std::max(Duration(), asleep_until_ - world_.sim.now()), [this, life = life_] {
    if (life != life_) return;
    const Event event = std::move(inbox_.front());
    inbox_.pop_front();
    begin(event(*core_, world_.sim.now()));
  });
}

void ServerNode::begin(Effects effects) {
  current_ = std::move(effects);
  next_write_ = 0;
  for (const Notice& item : current_.notices) notice(item);
  check_watermarks();
  write_next();
}

// Before each write, since what it drops may rest on it.
void ServerNode::check_watermarks() {
  for (std::uint32_t shard = 0; shard < core_->shard_count(); ++shard) {
    world_.ledger.check_watermark(region_, core_->shard(ShardId(shard)));
  }
}

void ServerNode::write_next() {
  while (next_write_ < current_.writes.size()) {
    if (dies_here()) return;
    const Batch& batch = current_.writes[next_write_++];
    if (const Result<void> written = store_->write(batch); !written) {
      ++world_.sim.counters()[Count::kDiskFailures];
      const Batch refused = batch;
      const std::uint64_t found = store_->crash_statistics().found_batches;
      crash();
      if (store_->crash_statistics().found_batches > found) world_.ledger.on_written(region_, refused, *store_);
      return;
    }
    world_.ledger.on_written(region_, batch, *store_);
    check_watermarks();
    if (!batch.sync) continue;
    const TimePoint done = std::max(
        asleep_until_,
        world_.sim.now() + world_.sim.between(world_.swarm.disk_min, world_.swarm.disk_max));
    world_.sim.after(done - world_.sim.now(), [this, life = life_] {
      if (life == life_) write_next();
    });
    return;
  }
  if (!current_.writes.empty() && dies_here()) return;
  send_all();
}

bool ServerNode::dies_here() {
  if (!world_.faulty || !world_.swarm.faults.crashes_in_writes ||
      !world_.sim.random().chance(kCrashPerStep))
    return false;
  ++world_.sim.counters()[Count::kCrashesInWrites];
  crash();
  return true;
}

void ServerNode::send_all() {
  for (std::uint32_t shard = 0; shard < core_->shard_count(); ++shard) {
    world_.ledger.check_replica(region_, core_->shard(ShardId(shard)));
  }
  const std::vector<Send> sends = std::move(current_.sends);
  for (const Send& item : sends) send(item);
  for (const ControlRequest& request : std::exchange(current_.controls, {})) {
    world_.control.request(region_, request, [this, life = life_](const ControlReply& reply) {
      if (life == life_) tell(reply);
    });
  }
  schedule_tick(current_.deadline);
  busy_ = false;
  pump();
}

Link* ServerNode::link(Endpoint peer) const {
  const auto found = links_.find(peer);
  return found == links_.end() ? nullptr : found->second;
}

void ServerNode::send(const Send& send) {
  if (const auto* worker = std::get_if<WorkerId>(&send.to)) {
    if (const auto* reply = std::get_if<PushReply>(&send.message);
        reply != nullptr && reply->outcome == PushOutcome::kAcknowledged) {
      world_.ledger.on_acknowledge(region_, reply->shard, reply->id, *store_);
    }
    if (Link* to = link({true, static_cast<std::uint32_t>(worker->value() - 1)}))
      to->send(*this, send.message);
    return;
  }
  const RegionId region = std::get<RegionId>(send.to);
  if (region == region_) {
    return enqueue([region, message = send.message](RegionCore& core, TimePoint now) {
      return core.on_message(region, message, now);
    });
  }
  Link* to = link({false, region.value()});
  if (to == nullptr) return world_.sim.fail("a message to a region that does not exist");
  if (std::holds_alternative<Install>(send.message)) ++world_.sim.counters()[Count::kInstalls];
  const std::optional<EntryAt> entry = entry_of(send.message);
  if (!entry) return to->send(*this, send.message);
  to->send(*this, send.message, [this, life = life_, region, at = *entry] {
    if (life != life_) return;
    enqueue([=](RegionCore& core, TimePoint now) {
      return core.on_drained(region, at.shard, at.version, now);
    });
  });
}

void ServerNode::notice(const Notice& notice) {
  Counters& counters = world_.sim.counters();
  if (notice.kind == Notice::Kind::kOverloaded) ++counters[Count::kOverloads];
  if (notice.kind == Notice::Kind::kSnapshotDone) ++counters[Count::kSnapshots];
  if (notice.kind == Notice::Kind::kModeChanged) ++counters[Count::kModeSwitches];
  if (notice.kind == Notice::Kind::kDeposed) ++counters[Count::kDeposed];
  if (notice.kind == Notice::Kind::kDuplicate) {
    ++counters[notice.text == "push" ? Count::kDuplicatePushes : Count::kDuplicateOffers];
  }
  world_.sim.record("notice", static_cast<std::uint64_t>(notice.kind), region_.value(),
                    notice.shard.value());
  if (world_.sim.tracing() && !notice.text.empty()) {
    world_.sim.trace("server " + to_string(region_) + " shard " + to_string(notice.shard) + ": " +
                     notice.text);
  }
}

void ServerNode::schedule_tick(std::optional<TimePoint> deadline) {
  if (!deadline || (tick_at_ && *tick_at_ <= *deadline)) return;
  tick_at_ = deadline;
  world_.sim.after(*deadline - world_.sim.now(), [this, life = life_, when = *deadline] {
    if (life != life_ || tick_at_ != when) return;
    tick_at_.reset();
    enqueue([this](RegionCore& core, TimePoint now) {
      ticks_at_once_ = now == last_tick_ ? ticks_at_once_ + 1 : 0;
      last_tick_ = now;
      if (ticks_at_once_ > kTicksAtOnce)
        world_.sim.fail("server " + to_string(region_) + " asks for ticks in the past");
      return core.on_tick(now);
    });
  });
}

}  // namespace godwit::sim
