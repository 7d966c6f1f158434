// RunSettings: the policies of a run, from cluster.toml. Only leaders' and regions' decisions read them; what
// a decision used is written into the entry, so replay needs none of this.
#pragma once

#include <cstdint>

#include "shared/base/time.h"
#include "shared/codec/codec_ids.h"

namespace godwit {

// What an acknowledgement promises (design, section 4).
enum class AckClass : std::uint8_t {
  kMemory,      // nothing synced
  kRegion,      // in this region's outbox or journal, synced
  kCommitted,   // named by an entry that this region's replica holds
  kReplicated,  // named at or below the watermark
};

struct RunSettings {
  std::uint32_t regions = 1;
  AckClass ack = AckClass::kRegion;
  CodecSpec contribution_codec{CodecId::kInt8, true};  // region -> leader; exact blocks are fp32
  CodecSpec update_codec{CodecId::kInt8, true};        // leader -> everyone; exact blocks are fp32

  // Rounds.
  Duration window_min = milliseconds(250);
  Duration window_max = milliseconds(1500);  // a window is 16 median steps, clamped to these
  Duration grace = milliseconds(3000);       // async: from the first offer of a round to its commit without the rest
  Duration sync_grace = seconds(120);        // sync: the same; a dead region leaves earlier, by lease
  Duration lease = seconds(4);               // a region without presence for this long is not live

  // Acknowledgement and limits. Full: pushes are answered `overloaded, retry after`.
  Duration ack_max_delay = seconds(1);       // longest wait in an open aggregate before it is journaled
  Duration retry_after = milliseconds(200);  // what `overloaded` tells the worker
  std::uint32_t outbox_items_max = 256;      // per shard: items that the watermark does not cover
  std::uint32_t open_aggregates_max = 4;     // per shard: rounds collected at once
  std::uint32_t waiting_pulls_max = 4096;    // per region server

  // Admission.
  float push_weight_min = 1;                 // tokens per step; also what a joining worker counts at least
  float push_weight_max = 1 << 22;           // and at most
  std::uint32_t push_steps_max = 100'000;
  std::uint32_t clip_free_pushes = 20;       // per region and shard: no bound for the first ones
  float clip_factor = 10;                    // times the running median of norm per step

  // Outer optimizer: Nesterov only when the median steps of a round reach nesterov_steps_min.
  float sgd_learning_rate = 1.0F;
  float nesterov_learning_rate = 0.7F;
  float nesterov_momentum = 0.9F;
  std::uint32_t nesterov_steps_min = 16;

  // Storage.
  std::uint64_t log_retained_versions = 1024;  // kept below the newest complete snapshot for late readers
  std::uint64_t snapshot_versions = 64;        // a snapshot starts this many versions after the last one
  std::uint64_t entry_cache_bytes = 64ULL << 20;
  std::uint64_t pull_reply_bytes = 32ULL << 20;  // entries in one reply; at least one
};

}  // namespace godwit
