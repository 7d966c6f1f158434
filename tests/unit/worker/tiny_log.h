// TinyLog: the log of one small shard, made by hand: versions that move P by a given update and
// name given pushes. Values are whole numbers, so that fp32 sums are exact and a test may compare
// with ==.
#pragma once

#include <vector>

#include "server/core/records.h"
#include "shared/protocol/messages.h"

namespace godwit::test {

inline constexpr std::size_t kTinyParameters = 12;
// Blocks of 8 and (exact) 4 parameters, one shard.
Manifest tiny_manifest();

struct NamedBy {
  PushId id;
  Verdict verdict = Verdict::kApplied;
};

class TinyLog {
 public:
  TinyLog();
  // The next version: P += update.
  Entry append(const std::vector<float>& update, const std::vector<NamedBy>& named = {});
  // A version that leaves P alone and shows this mode.
  Entry append_mode(Mode mode, std::uint32_t sync_steps);
  // A version that says P := values.
  Entry append_restore(const std::vector<float>& values, std::uint64_t restore_epoch);
  Snapshot snapshot() const;
  const std::vector<float>& values() const { return values_; }
  Version version() const { return head_.header.version; }

 private:
  Entry change(EntryHeader header, const std::vector<float>& update);
  Entry next(EntryHeader header, std::vector<SharedBytes> payloads);

  ShardLayout layout_;
  std::vector<float> values_;
  Entry head_;
};

}  // namespace godwit::test
