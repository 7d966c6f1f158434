// Shaper: makes a fast link behave like a slow one, on the sending side, for development. A link
// has a rate, at which bytes enter it one after another, and a delay, which they then spend in it
// side by side: delay never limits throughput. All connections of a link share one. Any thread.
#pragma once

#include <cstdint>
#include <mutex>

#include "shared/base/time.h"

namespace godwit::net {

struct LinkShape {
  Duration one_way_delay{0};
  std::uint64_t bits_per_second = 0;  // 0: no limit
};

// Largest piece that enters a shaped link at once, in bytes: how finely connections take turns.
inline constexpr std::size_t kShapedPieceBytes = 64u << 10;
// How much unused rate a link remembers: a late timer catches up, at the price of such a burst.
inline constexpr Duration kShaperSlack = milliseconds(2);

class Shaper {
 public:
  explicit Shaper(LinkShape shape) : shape_(shape) {}
  Shaper(const Shaper&) = delete;
  Shaper& operator=(const Shaper&) = delete;

  // Takes the link's next free stretch for `bytes`: the time at which the last of them has entered.
  // Callers reserve one piece at a time and wait for it before the next, so that they take turns.
  TimePoint reserve(std::size_t bytes, TimePoint now);
  Duration one_way_delay() const { return shape_.one_way_delay; }

 private:
  const LinkShape shape_;
  std::mutex mutex_;  // guards free_at_
  TimePoint free_at_{};
};

}  // namespace godwit::net
