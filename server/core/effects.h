// Effects: everything a core wants done after one event. The shell must keep this order:
//   1. write `writes` in order (a batch with `sync` is durable before the next step),
//   2. only then send `sends` in order,
//   3. ask the control store for `controls`, and tell the core every item that an answer holds,
//   4. call on_tick no later than `deadline`.
// If a write fails, nothing may be sent and no further event may be delivered: the process stops acknowledging.
#pragma once

#include <algorithm>
#include <optional>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "server/core/store.h"
#include "shared/base/time.h"
#include "shared/protocol/control_messages.h"
#include "shared/protocol/messages.h"

namespace godwit {

// A region's server (possibly our own), or a worker of our region.
using Address = std::variant<RegionId, WorkerId>;

struct Send {
  Address to;
  Message message;
};

// What is worth a line in the log or a counter; never needed for correctness.
struct Notice {
  enum class Kind : std::uint8_t {
    kCommitted, kApplied, kLate, kClipped, kRefused, kOverloaded, kDuplicate, kStaleEpoch, kForked, kModeChanged,
    kSnapshotDone, kPromoted, kDeposed, kInSync, kRestored, kDamaged,
  };
  Kind kind;
  ShardId shard;
  std::string text;
  double value = 0;
};

struct Effects {
  std::vector<Batch> writes;
  std::vector<Send> sends;
  std::vector<ControlRequest> controls;
  std::vector<Notice> notices;
  std::optional<TimePoint> deadline;

  void write(Batch batch) {
    if (!batch.empty() || batch.sync) writes.push_back(std::move(batch));
  }
  void control(ControlRequest request) { controls.push_back(std::move(request)); }
  void send(Address to, Message message) { sends.push_back({to, std::move(message)}); }
  void notice(Notice::Kind kind, ShardId shard, std::string text, double value = 0) {
    notices.push_back({kind, shard, std::move(text), value});
  }
  void wake_at(TimePoint when) { deadline = deadline ? std::min(*deadline, when) : when; }
};

}  // namespace godwit
