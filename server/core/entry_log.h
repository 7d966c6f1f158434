// EntryLog: the entries of one shard, newest ones in memory, older ones read from the store. An entry that
// was just committed is here before its batch is written, so readers never look behind the writer.
#pragma once

#include <deque>
#include <optional>

#include "server/core/store.h"
#include "shared/protocol/entry.h"

namespace godwit {

class EntryLog {
 public:
  // `cache_bytes` bounds the entries kept in memory; the newest one is always kept.
  EntryLog(ShardId shard, const StoreReader& store, std::uint64_t cache_bytes)
      : shard_(shard), store_(store), cache_bytes_(cache_bytes) {}

  // REQUIRES: entry.version is one above the last append.
  void append(Entry entry);
  void clear();  // after a fork: the store holds the truth
  // nullopt: not retained. Errors: kCorrupt.
  Result<std::optional<Entry>> find(Version version) const;
  // The hash of the entry at `version`; Hash() at version 0; nullopt when not retained.
  Result<std::optional<Hash>> hash_at(Version version) const;
  // Where a push was named among the entries in memory (newer than what the store may hold).
  std::optional<std::pair<Version, Verdict>> find_push(const PushId& id) const;

 private:
  ShardId shard_;
  const StoreReader& store_;
  std::uint64_t cache_bytes_;
  std::uint64_t held_bytes_ = 0;
  std::deque<Entry> recent_;
};

std::uint64_t entry_bytes(const Entry& entry);

}  // namespace godwit
