// Reads the store of a stopped server, sharing nothing with the code that wrote it but the entry's
// own format: keys, checksums and records are decoded here once more, so that a mistake there is
// found here.
#pragma once

#include <filesystem>
#include <string>

#include "shared/base/result.h"
#include "shared/protocol/entry.h"

namespace godwit::cli {

// Told what a store holds, in this order: all pinned versions, all snapshot blocks, all entries (by shard, then
// version), all push records, all members of the outbox.
class StoreVisitor {
 public:
  virtual ~StoreVisitor() = default;
  // A checkpoint names it: the log may have a gap after it.
  virtual void on_pin(ShardId shard, Version version) = 0;
  // `state` is the block_hash of the stored values.
  virtual void on_snapshot_block(ShardId shard, std::uint32_t block, Version version,
                                 Hash state) = 0;
  // The commit record of a version, whose payloads were all found and match their checksums, unless
  // a snapshot replaced the log up to it. `hash` is that of the stored bytes.
  virtual void on_entry(const EntryHeader& header, Hash hash) = 0;
  virtual void on_push_record(ShardId shard, const PushId& id, Version version,
                              Verdict verdict) = 0;
  virtual void on_outbox_member(ShardId shard, const PushId& id) = 0;
  // A record that is not what it should be; the rest is read all the same.
  virtual void on_damage(const std::string& text) = 0;
};

// Errors: kNotFound: no store there; kConflict: a server runs on it; kCorrupt, kIo.
Result<void> read_store(const std::filesystem::path& directory, StoreVisitor& visitor);

}  // namespace godwit::cli
