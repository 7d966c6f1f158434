#include "tests/history/shard_log.h"

#include <algorithm>

namespace godwit::history {
namespace {

std::string describe(const Entry& entry) {
  return "shard " + std::to_string(entry.shard) + " version " + std::to_string(entry.version) + " of epoch " +
         std::to_string(entry.epoch) + " (" + entry.hash + ")";
}

}  // namespace

std::string to_string(const PushName& push) {
  return "push " + std::to_string(push.sequence) + " of worker " + push.worker + ", process " +
         std::to_string(push.incarnation);
}

void ShardLog::add(const Entry& entry, const Place& place, Violations& violations) {
  const auto [found, fresh] = entries_.try_emplace(entry.hash, Known{entry, place});
  const Known& known = found->second;
  if (!fresh) {
    if (known.entry != entry) {
      violations.push_back({"one_hash_two_entries", place,
                            describe(entry) + " says something else in " + known.place.file + ":" +
                                std::to_string(known.place.line)});
    }
    return;
  }
  const auto [other, alone] = places_.try_emplace({entry.epoch, entry.version}, &known);
  if (alone) return;
  violations.push_back({"two_entries_at_a_version", place,
                        describe(entry) + " and " + other->second->entry.hash + " of the same epoch, in " +
                            other->second->place.file + ":" + std::to_string(other->second->place.line)});
}

void ShardLog::check_links(Violations& violations) const {
  for (const auto& [hash, known] : entries_) {
    const Entry& entry = known.entry;
    const Place& place = known.place;
    const auto report = [&](const char* rule, const std::string& what) {
      violations.push_back({rule, place, describe(entry) + what});
    };
    if (entry.version == 0 || (entry.version == 1) != (entry.previous == kNoEntry)) {
      report("versions_not_dense", " follows " + entry.previous);
      continue;
    }
    const auto previous = entries_.find(entry.previous);
    if (previous == entries_.end()) {
      const auto same_epoch = places_.find({entry.epoch, entry.version - 1});
      if (same_epoch != places_.end()) {
        report("chain_broken", " follows " + entry.previous + ", not " + same_epoch->second->entry.hash);
      }
      continue;
    }
    const Entry& before = previous->second.entry;
    if (before.version + 1 != entry.version) report("versions_not_dense", " follows " + describe(before));
    if (before.epoch > entry.epoch) report("epoch_decreases", " follows " + describe(before));
    const auto same_epoch = places_.find({entry.epoch, before.version});
    if (before.epoch < entry.epoch && same_epoch != places_.end()) {
      report("chain_broken", " follows " + before.hash + ", not " + same_epoch->second->entry.hash);
    }
  }
}

// What the final log holds below it; the nearest guess when nobody saw that.
const ShardLog::Known* ShardLog::below(const Known& known) const {
  const Entry& entry = known.entry;
  const auto previous = entries_.find(entry.previous);
  if (previous != entries_.end() && previous->second.entry.version < entry.version) return &previous->second;
  for (auto at = places_.lower_bound({entry.epoch, entry.version}); at != places_.begin();) {
    --at;
    if (at->second->entry.version + 1 < entry.version) return at->second;
  }
  return nullptr;
}

void ShardLog::follow(const Known* tip) {
  std::size_t piece = 0;
  for (const Known* known = tip; known != nullptr;) {
    const Entry& entry = known->entry;
    final_[entry.version] = known;
    name_pushes(*known, piece);
    const Known* const next = below(*known);
    const Number reached = next == nullptr ? 0 : next->entry.version;
    if (reached + 1 < entry.version) {
      gaps_.push_back({reached + 1, entry.version - 1});
    }
    if (next != nullptr && next->entry.hash != entry.previous && next->entry.epoch != entry.epoch) ++piece;
    known = next;
  }
}

void ShardLog::name_pushes(const Known& known, std::size_t piece) {
  for (const NamedPush& named : known.entry.pushes) {
    const auto [first, fresh] = namings_.try_emplace(named.push, Naming{&known, named.verdict, piece});
    if (!fresh && first->second.piece == piece) twice_.emplace_back(named.push, &known);
  }
}

void ShardLog::check_twice(Violations& violations) const {
  for (const auto& [push, known] : twice_) {
    const Known& other = *namings_.at(push).known;
    violations.push_back({"push_named_twice", other.place,
                          to_string(push) + ": in " + describe(known->entry) + " and in " + describe(other.entry)});
  }
}

void ShardLog::close(Violations& violations) {
  check_links(violations);
  if (places_.empty()) return;
  follow(places_.rbegin()->second);
  check_twice(violations);
  for (const auto& [hash, known] : entries_) {
    if (!holds(known.entry.version, hash) && !in_gap(known.entry.version)) truncated_.push_back(&known);
  }
}

bool ShardLog::in_gap(Number version) const {
  return std::any_of(gaps_.begin(), gaps_.end(),
                     [version](const Gap& gap) { return gap.first <= version && version <= gap.last; });
}

bool ShardLog::holds(Number version, const Identity& hash) const {
  if (version == 0) return true;
  const auto found = final_.find(version);
  return found != final_.end() && found->second->entry.hash == hash;
}

}  // namespace godwit::history
