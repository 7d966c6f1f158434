#include "server/core/entry_log.h"

#include "server/core/records.h"
#include "shared/base/check.h"

namespace godwit {

std::uint64_t entry_bytes(const Entry& entry) {
  std::uint64_t bytes = entry.encoded->size();
  for (const SharedBytes& payload : entry.payloads) bytes += payload->size();
  return bytes;
}

void EntryLog::append(Entry entry) {
  GODWIT_REQUIRE(recent_.empty() || entry.header.version == recent_.back().header.version.next(), "dense versions");
  held_bytes_ += entry_bytes(entry);
  recent_.push_back(std::move(entry));
  // The newest entries may not be written yet: keep a few whatever their size.
  while (recent_.size() > 4 && held_bytes_ > cache_bytes_) {
    held_bytes_ -= entry_bytes(recent_.front());
    recent_.pop_front();
  }
}

void EntryLog::clear() {
  recent_.clear();
  held_bytes_ = 0;
}

Result<std::optional<Entry>> EntryLog::find(Version version) const {
  if (!recent_.empty() && version >= recent_.front().header.version) {
    const std::uint64_t index = version.value() - recent_.front().header.version.value();
    if (index >= recent_.size()) return std::optional<Entry>();
    return std::optional<Entry>(recent_[index]);
  }
  return records::read_entry(store_, shard_, version);
}

Result<std::optional<Hash>> EntryLog::hash_at(Version version) const {
  if (version == Version()) return std::optional<Hash>(Hash());
  if (!recent_.empty() && version >= recent_.front().header.version) {
    const std::uint64_t index = version.value() - recent_.front().header.version.value();
    return index < recent_.size() ? std::optional<Hash>(recent_[index].hash) : std::nullopt;
  }
  Result<std::optional<Bytes>> commit = store_.get(Family::kLog, records::commit_key(shard_, version));
  if (!commit) return commit.error();
  return commit->has_value() ? std::optional<Hash>(entry_hash(**commit)) : std::nullopt;
}

std::optional<std::pair<Version, Verdict>> EntryLog::find_push(const PushId& id) const {
  for (auto entry = recent_.rbegin(); entry != recent_.rend(); ++entry) {
    for (const Named& named : entry->header.contributions) {
      for (const Member& member : named.members) {
        if (member.id != id) continue;
        return std::pair(entry->header.version,
                         named.verdict == Verdict::kApplied ? member.verdict : named.verdict);
      }
    }
  }
  return std::nullopt;
}

}  // namespace godwit
