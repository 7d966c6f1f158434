// Random: the only source of chance, always passed in, always seeded by the caller (xoshiro256**,
// Blackman and Vigna 2018). Cores never draw; simulation, back-off jitter and tests do.
#pragma once

#include <array>
#include <cstdint>

namespace godwit {

class Random {
 public:
  explicit Random(std::uint64_t seed);
  std::uint64_t next();
  // Uniform in [0, bound); bound > 0.
  std::uint64_t below(std::uint64_t bound);
  // Uniform in [0, 1).
  double uniform();
  bool chance(double probability) { return uniform() < probability; }
  // Standard normal (Box-Muller).
  double normal();

 private:
  std::array<std::uint64_t, 4> state_;
};

}  // namespace godwit
