// Checkpoint: a vector of versions, one per shard, that every replica keeps what it takes to
// rebuild (Retention). The control store holds the list of them, and the last one that was
// restored.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "server/core/records.h"
#include "shared/base/time.h"

namespace godwit {

inline constexpr std::size_t kCheckpointsMax = 64;
inline constexpr std::size_t kCheckpointReasonBytesMax = 256;

struct Checkpoint {
  std::uint64_t id = 0;              // from 1, never reused
  std::int64_t created_seconds = 0;  // Unix time
  std::string reason;                // what made it: an operator, or the schedule
  bool automatic = false;  // made by the schedule: goes when newer ones come, unless pinned
  bool pinned = false;
  std::vector<records::Pin> shards;  // at or below the watermark
  bool operator==(const Checkpoint&) const = default;
};

struct CheckpointList {
  std::uint64_t last_id = 0;
  std::vector<Checkpoint> items;  // by id

  const Checkpoint* find(std::uint64_t id) const;
  // Takes the next id. Drops the oldest automatic ones beyond the newest `keep`.
  const Checkpoint& add(Checkpoint checkpoint, std::uint32_t keep);
  Bytes encode() const;
  // Errors: kCorrupt.
  static Result<CheckpointList> decode(ByteView bytes);
  bool operator==(const CheckpointList&) const = default;
};

// When the schedule makes one, whichever comes first; 0: never.
struct CheckpointSchedule {
  std::uint64_t versions = 1000;  // of shard 0
  Duration interval = std::chrono::minutes(30);
  std::uint32_t keep = 3;

  // Why one is due, nullopt if none is. `last`: of the newest one, version 0 if there is none.
  std::optional<std::string> due(Version settled, Version last, Duration since_last) const;
};

// Every shard goes on from the values at these versions.
struct RestoreSetting {
  RestoreEpoch epoch;  // 0: nothing was ever restored
  std::uint64_t checkpoint = 0;
  std::vector<records::Pin> shards;

  Bytes encode() const;
  // Errors: kCorrupt.
  static Result<RestoreSetting> decode(ByteView bytes);
  bool operator==(const RestoreSetting&) const = default;
};

}  // namespace godwit
