// The one place that reads clocks, for shells: TimePoint on the axis of steady_clock, which nobody sets.
#pragma once

#include "shared/base/time.h"

namespace godwit::net {

inline TimePoint now() { return TimePoint(std::chrono::steady_clock::now().time_since_epoch()); }
inline std::chrono::steady_clock::time_point to_steady(TimePoint time) {
  return std::chrono::steady_clock::time_point(
      std::chrono::duration_cast<std::chrono::steady_clock::duration>(time.time_since_epoch()));
}

// Microseconds since 1970: a number that nobody else has taken before, no time. What is compared must not trust it,
// since people set clocks.
inline std::uint64_t wall_microseconds() {
  const auto since = std::chrono::system_clock::now().time_since_epoch();
  return static_cast<std::uint64_t>(std::chrono::duration_cast<std::chrono::microseconds>(since).count());
}

// For waits that something else ends for certain: a close, or a stop.
inline constexpr TimePoint kNoDeadline = TimePoint::max();

}  // namespace godwit::net
