// The one place that reads the clock, for shells: TimePoint on the axis of steady_clock.
#pragma once

#include "shared/base/time.h"

namespace godwit::net {

inline TimePoint now() { return TimePoint(std::chrono::steady_clock::now().time_since_epoch()); }
inline std::chrono::steady_clock::time_point to_steady(TimePoint time) {
  return std::chrono::steady_clock::time_point(
      std::chrono::duration_cast<std::chrono::steady_clock::duration>(time.time_since_epoch()));
}

// For waits that something else ends for certain: a close, or a stop.
inline constexpr TimePoint kNoDeadline = TimePoint::max();

}  // namespace godwit::net
