// Time as cores see it: a point on an unspecified monotonic axis, always passed in.
#pragma once

#include <chrono>

namespace godwit {

using Duration = std::chrono::nanoseconds;
struct CoreClock {  // never read: it only names the axis
  using duration = Duration;
  using rep = duration::rep;
  using period = duration::period;
  using time_point = std::chrono::time_point<CoreClock>;
  static constexpr bool is_steady = true;
};
using TimePoint = CoreClock::time_point;
using std::chrono::milliseconds;
using std::chrono::seconds;

inline double to_seconds(Duration duration) { return std::chrono::duration<double>(duration).count(); }

}  // namespace godwit
