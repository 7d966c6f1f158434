#include "tests/sim/ledger.h"

#include <algorithm>

#include "shared/tensor/kernels.h"
#include "tests/sim/message_text.h"

namespace godwit::sim {
namespace {

using godwit::to_string;

// The version of a commit record's key (shard | version | 1), nullopt for other keys of the log.
std::optional<std::pair<ShardId, Version>> commit_record(const Bytes& key) {
  if (key.size() != records::commit_key(ShardId(), Version()).size()) return std::nullopt;
  std::uint64_t shard = 0, version = 0;
  for (std::size_t i = 0; i < 4; ++i) shard = shard << 8 | static_cast<std::uint64_t>(key[i]);
  for (std::size_t i = 4; i < 12; ++i) version = version << 8 | static_cast<std::uint64_t>(key[i]);
  return std::pair(ShardId(static_cast<std::uint32_t>(shard)), Version(version));
}

}  // namespace

Ledger::Ledger(Simulator& sim, const Swarm& swarm, const Layout& layout)
    : sim_(sim), swarm_(swarm), layout_(layout), incarnations_(swarm.run.regions, Incarnation(1)) {
  for (const ShardLayout& shard : layout_.shards) {
    logs_.push_back(
        {History(swarm, shard), {}, {}, std::vector<Hash>(swarm.run.regions), {}, {}, {}});
  }
}

void Ledger::fail(const Log& log, const std::string& why) {
  sim_.fail("shard " + to_string(shard_of(log)) + " at version " +
            to_string(log.history.head().version) + ": " + why);
}

void Ledger::on_push(const Push& push, std::span<const float> q) {
  Log& log = logs_[push.header.shard.value()];
  MadePush& made = log.pushes[push.header.id];
  if (made.header == push.header) return;  // repeated: a restore may have zeroed the worker's q since, not the payload
  made = {push.header, std::vector<float>(q.begin(), q.end())};
}

// Items of the outbox and members of the journal.
std::set<PushId> Ledger::stored(ShardId shard, const StoreReader& store) const {
  std::set<PushId> ids;
  const auto found = Aggregator::load(store, shard, layout_.shards[shard.value()]);
  if (!found) return ids;
  for (const auto& [sequence, item] : found->items) {
    for (const Member& member : item.header.members) ids.insert(member.id);
  }
  for (const auto& [round, aggregate] : found->open) {
    for (const Member& member : aggregate.members) ids.insert(member.id);
  }
  return ids;
}

bool Ledger::is_settled(const Log& log, const PushId& id) const {
  const std::optional<Version> named = log.history.named(id);
  return named && *named <= log.settled;
}

void Ledger::on_acknowledge(RegionId region, ShardId shard, const PushId& id,
                            const StoreReader& store) {
  Log& log = logs_[shard.value()];
  log.acknowledged.emplace(id, region);
  ++sim_.counters()[Count::kAcknowledged];
  if (!durable()) return;
  const std::string what = "push " + sim::to_string(id) + " is acknowledged ";
  const bool settled = is_settled(log, id);
  if (!settled && !stored(shard, store).contains(id))
    fail(log, what + "but neither settled nor stored");
  if (swarm_.run.ack == AckClass::kReplicated && !settled) fail(log, what + "above the watermark");
  if (swarm_.run.ack == AckClass::kCommitted && !settled &&
      !log.history.named_on(log.held[region.value()], id)) {
    fail(log, what + "before it is in this replica");
  }
}

void Ledger::on_written(RegionId region, const Batch& batch, const StoreReader& store) {
  for (const Write& write : batch.writes) {
    if (write.kind == Write::Kind::kPut && write.family == Family::kSnapshot)
      sim_.record("snapshot block");
    if (write.kind == Write::Kind::kPut && write.family == Family::kOutbox &&
        write.key.size() == records::journal_key(ShardId()).size()) {
      ++sim_.counters()[Count::kJournals];
    }
    if (write.kind == Write::Kind::kDeleteRange && write.family == Family::kPushes)
      on_truncated(region, write.key);  // a reload; what it goes on with, if anything, follows in the batch
    if (write.kind != Write::Kind::kPut || write.family != Family::kLog) continue;
    if (const auto at = commit_record(write.key))
      on_record(region, at->first, at->second, view(write.value), store);
  }
}

void Ledger::on_truncated(RegionId region, const Bytes& begin) {
  std::uint32_t shard = 0;
  for (std::size_t i = 0; i < 4; ++i) shard = shard << 8 | static_cast<std::uint32_t>(begin[i]);
  logs_[shard].held[region.value()] = Hash();
}

void Ledger::on_record(RegionId region, ShardId shard, Version version, ByteView record,
                       const StoreReader& store) {
  Log& log = logs_[shard.value()];
  sim_.record("durable", region.value(), shard.value(), version.value());
  const Hash hash = entry_hash(record);
  if (log.history.find(hash) == nullptr) {
    const Result<std::optional<Entry>> entry = records::read_entry(store, shard, version);
    if (!entry || !*entry) return fail(log, "a commit record without its payloads");
    if ((*entry)->header.leader != region) {
      return fail(log, "region " + to_string(region) + " holds version " + to_string(version) +
                           ", the leader that committed it does not");
    }
    const std::string wrong = log.history.add(**entry, log.pushes, sim_.counters());
    if (!wrong.empty()) return fail(log, "the next entry: " + wrong);
    count((*entry)->header);
    if (log.history.head().version < log.settled ||
        log.history.at(log.settled) != log.settled_entry) {
      return fail(log, "what the watermark covered is truncated");
    }
  }
  log.held[region.value()] = hash;
}

void Ledger::count(const EntryHeader& header) {
  Counters& counters = sim_.counters();
  ++counters[Count::kCommits];
  if (header.kind == EntryKind::kRound) ++counters[Count::kRounds];
  if (header.kind == EntryKind::kLate) ++counters[Count::kLate];
  if (header.kind == EntryKind::kRestore) ++counters[Count::kRestores];
  if (header.outer == Outer::kNesterov) ++counters[Count::kNesterov];
  for (const Named& named : header.contributions) {
    for (const Member& member : named.members) {
      if (member.clip < 1) ++counters[Count::kClipped];
      if (verdict_of(named, member) == Verdict::kDiscarded) ++counters[Count::kDiscarded];
    }
  }
}

void Ledger::on_recovered(RegionId region, const RegionCore& core, const StoreReader& store) {
  for (std::uint32_t id = 0; id < logs_.size(); ++id) {
    check_recovered(region, core.shard(ShardId(id)), store);
  }
}

void Ledger::check_recovered(RegionId region, const ShardCore& shard, const StoreReader& store) {
  const ShardId id = shard.state().shard();
  Log& log = logs_[id.value()];
  Hash& held = log.held[region.value()];
  sim_.counters()[Count::kReplayed] += shard.replayed();
  const Version recovered = shard.state().version();
  // A batch that a failing disk refused may be there after all: entries, or a reload, which has none below it.
  for (Version next = log.history.find(held)->entry.header.version.next(); next <= recovered;
       next = next.next()) {
    const Result<std::optional<Entry>> entry = records::read_entry(store, id, next);
    if (entry && *entry) on_record(region, id, next, view((*entry)->encoded), store);
  }
  const Hash head = shard.state().head_hash();
  const bool lost = head != held && log.history.ancestor(held, recovered) == head;
  if (durable() && (lost || log.history.find(head) == nullptr)) {
    return fail(log, "region " + to_string(region) + " recovered version " + to_string(recovered) +
                         ", not what its disk held");
  }
  held = shard.state().head_hash();
  check_replica(region, shard);
  if (swarm_.run.ack != AckClass::kRegion) return;
  const std::set<PushId> kept = stored(id, store);
  for (const auto& [push, at] : log.acknowledged) {
    if (at == region && !is_settled(log, push) && !kept.contains(push)) {
      return fail(log,
                  "push " + sim::to_string(push) + " was acknowledged and is lost after a crash");
    }
  }
}

// What it acknowledged stays: the outbox is not damaged.
void Ledger::on_disk_rotten(RegionId region) {
  incarnations_[region.value()] = incarnations_[region.value()].next();
  for (Log& log : logs_) log.held[region.value()] = Hash();
}

void Ledger::on_disk_lost(RegionId region) {
  on_disk_rotten(region);
  for (Log& log : logs_) {
    std::erase_if(log.acknowledged, [&](const auto& item) {
      return item.second == region && !is_settled(log, item.first);
    });
  }
}

bool Ledger::can_lose_disk(RegionId lost) const {
  return std::all_of(logs_.begin(), logs_.end(), [&](const Log& log) {
    return std::any_of(
        log.record.in_sync.begin(), log.record.in_sync.end(), [&](const auto& member) {
          return member.first != lost && member.second == incarnations_[member.first.value()];
        });
  });
}

void Ledger::on_restore(const RestoreSetting& setting) {
  for (std::size_t id = 0; id < logs_.size(); ++id) logs_[id].history.on_restore(setting.epoch, setting.shards[id]);
}

void Ledger::on_shard_record(ShardId shard, const ShardRecord& record) {
  Log& log = logs_[shard.value()];
  Counters& counters = sim_.counters();
  if (record.in_sync.size() < log.record.in_sync.size()) ++counters[Count::kInSyncShrinks];
  if (record.in_sync.size() > log.record.in_sync.size()) ++counters[Count::kInSyncGrows];
  if (record.epoch < log.record.epoch ||
      (record.epoch == log.record.epoch && record.leader != log.record.leader)) {
    fail(log, "an epoch was given twice");
  }
  log.record = record;
  sim_.record("record", shard.value(), record.leader.value(), record.epoch.value());
  if (sim_.tracing()) {
    std::string line = "shard " + to_string(shard) + ": region " + to_string(record.leader) +
                       " leads in epoch " + to_string(record.epoch) + ", in sync:";
    for (const auto& [region, incarnation] : record.in_sync) line += " " + to_string(region);
    sim_.trace(line);
  }
  check_members(log);
}

// Whoever may be promoted holds everything that anybody was told is safe.
void Ledger::check_members(Log& log) {
  if (!durable()) return;
  for (const auto& [region, incarnation] : log.record.in_sync) {
    if (incarnation != incarnations_[region.value()])
      continue;  // its disk is gone: it may not be promoted
    if (log.history.ancestor(log.held[region.value()], log.settled) != log.settled_entry) {
      fail(log, "region " + to_string(region) + " is in sync without version " +
                    to_string(log.settled) + ", which the watermark covers");
    }
  }
}

void Ledger::check_watermark(RegionId region, const ShardCore& shard) {
  Log& log = logs_[shard.state().shard().value()];
  const Version watermark = shard.watermark();
  if (watermark <= log.settled || !durable() ||
      log.history.find(shard.state().head_hash()) == nullptr)
    return;
  if (watermark > log.history.head().version ||
      log.history.ancestor(shard.state().head_hash(), watermark) != log.history.at(watermark)) {
    return fail(log, "region " + to_string(region) + " takes version " + to_string(watermark) +
                         " of a truncated branch for settled");
  }
  log.settled = watermark;
  log.settled_entry = log.history.at(watermark);
  check_members(log);
}

void Ledger::check_replica(RegionId region, const ShardCore& shard) {
  Log& log = logs_[shard.state().shard().value()];
  const History::Node* node = log.history.find(shard.state().head_hash());
  if (node == nullptr) return;  // its commit record is being written
  for (std::uint32_t block = 0; block < shard.state().block_count(); ++block) {
    const Hash expected = node->states[block];
    if (shard.state().rehash(block) != expected || shard.state().block_state(block) != expected) {
      return fail(log, "region " + to_string(region) + " holds other bytes at version " +
                           to_string(shard.state().version()));
    }
  }
  check_watermark(region, shard);
}

void Ledger::check_anchor(const ShardView& shard) {
  const Log& log = logs_[shard.shard().value()];
  const ShardLayout& layout = shard.layout();
  const History::Node* node = log.history.find(shard.head_hash());
  if (node == nullptr) return fail(log, "a worker holds a version that nobody committed");
  for (std::uint32_t block = 0; block < layout.blocks.size(); ++block) {
    const Block& place = layout.blocks[block];
    if (kernels::block_hash(shard.anchor().subspan(place.offset - layout.offset, place.count)) !=
        node->states[block]) {
      return fail(log, "a worker's anchor differs from version " + to_string(shard.head().version));
    }
  }
}

void Ledger::check_all_named() {
  if (!durable()) return;
  for (const Log& log : logs_) {
    for (const auto& [push, region] : log.acknowledged) {
      if (!log.history.named(push))
        fail(log, "push " + sim::to_string(push) + " was acknowledged and never named");
    }
  }
}

}  // namespace godwit::sim
