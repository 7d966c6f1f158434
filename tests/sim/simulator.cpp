#include "tests/sim/simulator.h"

#include <algorithm>
#include <cstdio>

namespace godwit::sim {

Duration Simulator::between(Duration low, Duration high) {
  const auto span = static_cast<std::uint64_t>((high - low).count());
  return low + Duration(static_cast<Duration::rep>(random_.below(span + 1)));
}

void Simulator::after(Duration delay, Action action) {
  queue_.push_back({now_ + std::max(delay, Duration()), ++order_, std::move(action)});
  std::push_heap(queue_.begin(), queue_.end(), later);
}

bool Simulator::run_one() {
  if (queue_.empty() || !failure_.empty()) return false;
  std::pop_heap(queue_.begin(), queue_.end(), later);
  Scheduled next = std::move(queue_.back());
  queue_.pop_back();
  now_ = next.when;
  ++counters_[Count::kEvents];
  next.action();
  return failure_.empty();
}

void Simulator::mix(std::uint64_t value) {
  hash_ = (hash_ ^ value) * 0x9E3779B97F4A7C15ULL;
  hash_ ^= hash_ >> 29;
}

void Simulator::record(std::string_view what, std::uint64_t a, std::uint64_t b, std::uint64_t c) {
  mix(static_cast<std::uint64_t>(now_.time_since_epoch().count()));
  for (const char letter : what) mix(static_cast<unsigned char>(letter));
  mix(a);
  mix(b);
  mix(c);
  if (trace_) {
    trace(std::string(what) + " " + std::to_string(a) + " " + std::to_string(b) + " " + std::to_string(c));
  }
}

void Simulator::trace(const std::string& line) const {
  if (trace_) std::printf("%10.4f  %s\n", to_seconds(now_.time_since_epoch()), line.c_str());
}

void Simulator::fail(std::string why) {
  if (!failure_.empty()) return;
  trace("VIOLATION: " + why);
  failure_ = std::move(why);
}

}  // namespace godwit::sim
