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

std::set<PushId> members(const Aggregator::Stored& stored) {
  std::set<PushId> ids;
  for (const auto& [sequence, item] : stored.items) {
    for (const Member& member : item.header.members) ids.insert(member.id);
  }
  for (const auto& [round, aggregate] : stored.open) {
    for (const Member& member : aggregate.members) ids.insert(member.id);
  }
  return ids;
}

}  // namespace

Ledger::Ledger(Simulator& sim, const Swarm& swarm, const Layout& layout)
    : sim_(sim), swarm_(swarm), layout_(layout) {
  for (const ShardLayout& shard : layout_.shards) {
    logs_.push_back({Arithmetic(swarm, shard),
                     {},
                     {},
                     {},
                     {},
                     {},
                     {},
                     std::vector<Version>(swarm.run.regions),
                     std::vector<Version>(swarm.run.regions)});
  }
}

void Ledger::fail(const Log& log, const std::string& why) {
  sim_.fail("shard " + to_string(shard_of(log)) + " at version " + to_string(log.head().version) +
            ": " + why);
}

void Ledger::on_push(const Push& push, std::span<const float> q) {
  Log& log = logs_[push.header.shard.value()];
  if (log.named.contains(push.header.id)) return;  // repeated while its naming is on the way back
  log.pushes[push.header.id] = {push.header, std::vector<float>(q.begin(), q.end())};
}

bool Ledger::stored(RegionId, ShardId shard, const PushId& id, const StoreReader& store) const {
  const auto found = Aggregator::load(store, shard, layout_.shards[shard.value()]);
  return found && members(*found).contains(id);
}

void Ledger::on_acknowledge(RegionId region, ShardId shard, const PushId& id,
                            const StoreReader& store) {
  Log& log = logs_[shard.value()];
  log.acknowledged.emplace(id, region);
  ++sim_.counters()[Count::kAcknowledged];
  const auto named = log.named.find(id);
  const bool is_named = named != log.named.end();
  const std::string what = "push " + sim::to_string(id) + " is acknowledged ";
  switch (swarm_.run.ack) {
    case AckClass::kMemory:
      return;
    case AckClass::kRegion:
      if (!is_named && !stored(region, shard, id, store))
        fail(log, what + "but neither named nor stored");
      return;
    case AckClass::kCommitted:
      if (!is_named || named->second > log.durable[region.value()])
        fail(log, what + "before it is in this replica");
      return;
    case AckClass::kReplicated:
      if (!is_named ||
          named->second > *std::min_element(log.replicated.begin(), log.replicated.end())) {
        fail(log, what + "before every replica holds it");
      }
      return;
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
    if (write.kind != Write::Kind::kPut || write.family != Family::kLog) continue;
    if (const auto at = commit_record(write.key))
      on_record(region, at->first, at->second, view(write.value), store);
  }
}

void Ledger::on_record(RegionId region, ShardId shard, Version version, ByteView record,
                       const StoreReader& store) {
  Log& log = logs_[shard.value()];
  sim_.record("durable", region.value(), shard.value(), version.value());
  if (version == log.head().version.next() && swarm_.leaders[shard.value()] == region) {
    const Result<std::optional<Entry>> entry = records::read_entry(store, shard, version);
    if (!entry || !*entry)
      return fail(log, "the leader wrote a commit record without its payloads");
    append(log, **entry);
  }
  if (version > log.head().version)
    return fail(log, "a follower holds version " + to_string(version) + ", the leader not");
  if (entry_hash(record) != log.entry_hashes[version.value() - 1]) {
    return fail(log,
                "region " + to_string(region) + " holds another version " + to_string(version));
  }
  for (auto* held : {&log.durable, &log.replicated}) {
    (*held)[region.value()] = std::max((*held)[region.value()], version);
  }
}

void Ledger::append(Log& log, const Entry& entry) {
  const EntryHeader& header = entry.header;
  const EntryHeader last = log.head();
  if (header.version != last.version.next()) return fail(log, "versions are not dense");
  if (header.previous != (log.entry_hashes.empty() ? Hash() : log.entry_hashes.back())) {
    return fail(log, "the hash chain is broken");
  }
  if (header.epoch < last.epoch) return fail(log, "an older leader committed");
  if (header.mode_epoch < last.mode_epoch) return fail(log, "an older mode came back");
  name_members(log, header);
  if (const std::string wrong = log.arithmetic.apply(entry, log.pushes); !wrong.empty()) {
    return fail(log, "the next entry: " + wrong);
  }
  log.headers.push_back(header);
  log.entry_hashes.push_back(entry.hash);
  count(header);
}

void Ledger::name_members(Log& log, const EntryHeader& header) {
  for (const Named& named : header.contributions) {
    SequenceNo& last = log.producers[{named.region, named.incarnation}];
    if (named.sequence != last.next())
      fail(log, "contributions of region " + to_string(named.region) + " are not dense");
    last = named.sequence;
    for (const Member& member : named.members) {
      if (!log.named.emplace(member.id, header.version).second) {
        fail(log, "push " + sim::to_string(member.id) + " is named twice");
      }
    }
  }
}

void Ledger::count(const EntryHeader& header) {
  Counters& counters = sim_.counters();
  ++counters[Count::kCommits];
  if (header.kind == EntryKind::kRound) ++counters[Count::kRounds];
  if (header.kind == EntryKind::kLate) ++counters[Count::kLate];
  if (header.outer == Outer::kNesterov) ++counters[Count::kNesterov];
  for (const Named& named : header.contributions) {
    for (const Member& member : named.members) {
      if (member.clip < 1) ++counters[Count::kClipped];
    }
  }
}

void Ledger::on_recovered(RegionId region, const RegionCore& core, const StoreReader& store) {
  for (std::uint32_t id = 0; id < logs_.size(); ++id) {
    Log& log = logs_[id];
    const ShardCore& shard = core.shard(ShardId(id));
    sim_.counters()[Count::kReplayed] += shard.replayed();
    const Version recovered = shard.state().version();
    if (swarm_.leaders[id] == region) {
      // A batch that a failing disk refused may be there after all.
      for (Version version = log.head().version.next(); version <= recovered;
           version = version.next()) {
        const Result<std::optional<Entry>> entry = records::read_entry(store, ShardId(id), version);
        if (!entry || !*entry) return fail(log, "recovered without version " + to_string(version));
        append(log, **entry);
      }
    }
    if (recovered < log.durable[region.value()]) {
      return fail(log, "region " + to_string(region) + " lost versions: it recovered " +
                           to_string(recovered) + " of " + to_string(log.durable[region.value()]));
    }
    log.durable[region.value()] = recovered;
    log.replicated[region.value()] = std::max(log.replicated[region.value()], recovered);
    check_replica(region, shard);
    if (swarm_.run.ack != AckClass::kRegion) continue;
    const auto found = Aggregator::load(store, ShardId(id), layout_.shards[id]);
    const std::set<PushId> kept = found ? members(*found) : std::set<PushId>();
    for (const auto& [push, at] : log.acknowledged) {
      if (at == region && !log.named.contains(push) && !kept.contains(push)) {
        return fail(log,
                    "push " + sim::to_string(push) + " was acknowledged and is lost after a crash");
      }
    }
  }
}

void Ledger::on_disk_lost(RegionId region) {
  for (Log& log : logs_) {
    log.durable[region.value()] = Version();
    std::erase_if(log.acknowledged, [&](const auto& item) { return item.second == region; });
  }
}

void Ledger::check_replica(RegionId region, const ShardCore& shard) {
  const Log& log = logs_[shard.state().shard().value()];
  const Version version = shard.state().version();
  if (version > log.head().version) return;  // its commit record is being written
  for (std::uint32_t block = 0; block < shard.state().block_count(); ++block) {
    const Hash expected = log.arithmetic.hashes(version)[block];
    if (shard.state().rehash(block) != expected || shard.state().block_state(block) != expected) {
      return fail(log, "region " + to_string(region) + " holds other bytes at version " +
                           to_string(version));
    }
  }
}

void Ledger::check_anchor(const ShardView& shard) {
  const Log& log = logs_[shard.shard().value()];
  const ShardLayout& layout = shard.layout();
  const Version version = shard.head().version;
  if (version > log.head().version)
    return fail(log, "a worker holds version " + to_string(version));
  for (std::uint32_t block = 0; block < layout.blocks.size(); ++block) {
    const Block& place = layout.blocks[block];
    if (kernels::block_hash(shard.anchor().subspan(place.offset - layout.offset, place.count)) !=
        log.arithmetic.hashes(version)[block]) {
      return fail(log, "a worker's anchor differs from version " + to_string(version));
    }
  }
}

void Ledger::check_all_named() {
  for (const Log& log : logs_) {
    for (const auto& [push, region] : log.acknowledged) {
      if (!log.named.contains(push))
        fail(log, "push " + sim::to_string(push) + " was acknowledged and never named");
    }
  }
}

}  // namespace godwit::sim
