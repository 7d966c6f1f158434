#include "shared/net/shaper.h"

#include <algorithm>

namespace godwit::net {

TimePoint Shaper::reserve(std::size_t bytes, TimePoint now) {
  if (shape_.bits_per_second == 0) return now;
  const double bits = 8.0 * static_cast<double>(bytes);
  const std::chrono::duration<double> needed(bits / static_cast<double>(shape_.bits_per_second));
  const std::lock_guard lock(mutex_);
  free_at_ = std::max(free_at_, now - kShaperSlack) + std::chrono::duration_cast<Duration>(needed);
  return std::max(free_at_, now);
}

}  // namespace godwit::net
