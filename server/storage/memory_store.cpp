#include "server/storage/memory_store.h"

#include <algorithm>
#include <cstring>
#include <utility>

#include "shared/base/check.h"

namespace godwit {

bool MemoryStore::KeyLess::operator()(ByteView a, ByteView b) const { return text(a) < text(b); }

Result<std::optional<Bytes>> MemoryStore::get(Family family, ByteView key) const {
  const std::lock_guard lock(mutex_);
  const auto found = map(family).find(key);
  if (found == map(family).end()) return std::optional<Bytes>();
  return std::optional<Bytes>(*found->second);
}

Result<void> MemoryStore::scan(Family family, ByteView begin, ByteView end,
                               const Visitor& visit) const {
  const std::lock_guard lock(mutex_);
  ++scans_;
  const Map& entries = map(family);
  for (auto at = entries.lower_bound(begin); at != entries.end() && KeyLess()(at->first, end);
       ++at) {
    if (!visit(at->first, *at->second)) break;
  }
  --scans_;
  return {};
}

Result<void> MemoryStore::write(const Batch& batch) {
  const std::lock_guard lock(mutex_);
  GODWIT_REQUIRE(scans_ == 0, "a scan's visitor does not write");
  if (failure_) {
    if (!in_doubt_) in_doubt_ = batch;
    return *failure_;
  }
  unsynced_.push_back(apply(batch));
  if (batch.sync) unsynced_.clear();
  return {};
}

void MemoryStore::fail_writes(Error error) {
  const std::lock_guard lock(mutex_);
  failure_ = std::move(error);
}

void MemoryStore::crash(Random& random) {
  const std::lock_guard lock(mutex_);
  const std::size_t written = unsynced_.size();
  std::size_t survivors = random.below(written + 1);
  if (survivors > 0 && random.chance(0.5)) {
    --survivors;
    ++statistics_.torn_batches;
  }
  ++statistics_.crashes;
  statistics_.lost_batches += written - survivors;
  while (unsynced_.size() > survivors) take_back_last();
  if (in_doubt_ && survivors == written && random.chance(0.5)) {
    apply(*in_doubt_);
    ++statistics_.found_batches;
  }
  unsynced_.clear();
  in_doubt_.reset();
  failure_.reset();
}

CrashStatistics MemoryStore::crash_statistics() const {
  const std::lock_guard lock(mutex_);
  return statistics_;
}

std::size_t MemoryStore::unsynced_batches() const {
  const std::lock_guard lock(mutex_);
  return unsynced_.size();
}

MemoryStore::Undo MemoryStore::apply(const Batch& batch) {
  Undo undo;
  undo.reserve(batch.writes.size());
  for (const Write& write : batch.writes) {
    switch (write.kind) {
      case Write::Kind::kPut:
        replace(write.family, write.key, write.value ? write.value : share({}), undo);
        break;
      case Write::Kind::kDelete:
        replace(write.family, write.key, nullptr, undo);
        break;
      case Write::Kind::kDeleteRange:
        erase_range(write.family, write.key, write.end, undo);
        break;
    }
  }
  return undo;
}

// A null value erases.
void MemoryStore::replace(Family family, const Bytes& key, const SharedBytes& value, Undo& undo) {
  Map& entries = map(family);
  const auto at = entries.lower_bound(ByteView(key));
  const bool present = at != entries.end() && at->first == key;
  undo.push_back({family, key, present ? at->second : nullptr});
  if (present && value) {
    at->second = value;
  } else if (present) {
    entries.erase(at);
  } else if (value) {
    entries.emplace_hint(at, key, value);
  }
}

void MemoryStore::erase_range(Family family, ByteView begin, ByteView end, Undo& undo) {
  if (!KeyLess()(begin, end)) return;
  Map& entries = map(family);
  const auto first = entries.lower_bound(begin);
  const auto last = entries.lower_bound(end);
  for (auto at = first; at != last; ++at) undo.push_back({family, at->first, at->second});
  entries.erase(first, last);
}

void MemoryStore::take_back_last() {
  Undo undo = std::move(unsynced_.back());
  unsynced_.pop_back();
  for (auto replaced = undo.rbegin(); replaced != undo.rend(); ++replaced) {
    if (replaced->value) {
      map(replaced->family).insert_or_assign(std::move(replaced->key), std::move(replaced->value));
    } else {
      map(replaced->family).erase(replaced->key);
    }
  }
}

}  // namespace godwit
