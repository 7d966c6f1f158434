// Simulator: virtual time for a whole cluster in one thread. Everything that happens is an action at a
// time; equal times run in the order in which they were scheduled. The seed is the only source of chance,
// so a seed is a history: the hash over everything recorded is the same each time it is run.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "shared/base/random.h"
#include "shared/base/time.h"
#include "tests/sim/counters.h"

namespace godwit::sim {

class Simulator {
 public:
  using Action = std::function<void()>;

  Simulator(std::uint64_t seed, bool trace) : random_(seed), trace_(trace) {}
  Simulator(const Simulator&) = delete;
  Simulator& operator=(const Simulator&) = delete;

  TimePoint now() const { return now_; }
  Random& random() { return random_; }
  Duration between(Duration low, Duration high);  // uniform, both included
  Counters& counters() { return counters_; }

  void after(Duration delay, Action action);
  // Runs the next action. False: nothing is left, or a checker failed.
  bool run_one();

  // One event of the history: into the hash, and a line of the trace.
  void record(std::string_view what, std::uint64_t a = 0, std::uint64_t b = 0, std::uint64_t c = 0);
  bool tracing() const { return trace_; }
  void trace(const std::string& line) const;  // only a line, for people
  std::uint64_t hash() const { return hash_; }

  // The first violation stops the run.
  void fail(std::string why);
  const std::string& failure() const { return failure_; }

 private:
  struct Scheduled {
    TimePoint when;
    std::uint64_t order;
    Action action;
  };
  static bool later(const Scheduled& a, const Scheduled& b) {
    return a.when != b.when ? a.when > b.when : a.order > b.order;
  }
  void mix(std::uint64_t value);

  Random random_;
  bool trace_;
  TimePoint now_{};
  std::uint64_t order_ = 0;
  std::uint64_t hash_ = 0;
  std::vector<Scheduled> queue_;  // a heap by later()
  std::string failure_;
  Counters counters_;
};

}  // namespace godwit::sim
