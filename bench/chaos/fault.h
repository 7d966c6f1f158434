// Fault: one thing that goes wrong in a chaos run; a seeded sequence of them. Pure.
#pragma once

#include <array>
#include <cstdint>
#include <string_view>
#include <vector>

#include "shared/base/time.h"

namespace godwit::bench {

enum class FaultKind : unsigned char {
  kKillWorker,   // SIGKILL of a worker
  kKillServer,   // SIGKILL of a server, started again soon
  kKillControl,  // the same of the server that hosts the control store
  kLeaderAway,   // SIGKILL of a shard's leader, away for longer than the lease
  kPauseShort,   // SIGSTOP and SIGCONT of a server, within the lease
  kPauseLong,    // for longer than the lease
  kCutLink,      // between two regions: connections end, new ones are refused
  kHoldLink,     // bytes are taken and go nowhere until it heals
};
inline constexpr std::array kFaultKinds = {FaultKind::kKillWorker,  FaultKind::kKillServer, FaultKind::kKillControl,
                                           FaultKind::kLeaderAway,  FaultKind::kPauseShort, FaultKind::kPauseLong,
                                           FaultKind::kCutLink,     FaultKind::kHoldLink};
std::string_view name(FaultKind kind);
inline bool is_of_link(FaultKind kind) { return kind == FaultKind::kCutLink || kind == FaultKind::kHoldLink; }
inline bool is_of_worker(FaultKind kind) { return kind == FaultKind::kKillWorker; }
// Servers out for so long that somebody else must lead.
inline bool is_long(FaultKind kind) { return kind == FaultKind::kLeaderAway || kind == FaultKind::kPauseLong; }

struct PlannedFault {
  FaultKind kind;
  Duration at;         // since the start of the run
  Duration lasts;      // until a process is started or goes on, or a link heals
  std::uint64_t draw;  // decides whom it hits, among those whom it can hit then
};

// One every few seconds for `window`, of all kinds equally often. `lease` decides what is long.
std::vector<PlannedFault> plan_faults(std::uint64_t seed, Duration window, Duration lease);

}  // namespace godwit::bench
