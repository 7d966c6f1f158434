// godwit-sim: runs seeds of the simulated cluster until one fails, the seeds are done, or the time
// is over.
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>

#include "tests/sim/cluster.h"

namespace {

constexpr const char* kUsage =
    "usage: godwit-sim --seed N [--seeds M] [--minutes T] [--trace] [--keep-going]\n"
    "  --seed N        the first seed\n"
    "  --seeds M       how many seeds from N on (default 1)\n"
    "  --minutes T     stop after T minutes, however many seeds are left\n"
    "  --trace         print every event\n"
    "  --keep-going    do not stop at the first seed that fails\n";

struct Options {
  std::uint64_t seed = 0;
  std::uint64_t seeds = 1;
  double minutes = 0;
  bool trace = false;
  bool keep_going = false;
  bool valid = false;
};

Options parse(int argc, char** argv) {
  Options options;
  for (int i = 1; i < argc; ++i) {
    const char* value = i + 1 < argc ? argv[i + 1] : nullptr;
    if (std::strcmp(argv[i], "--trace") == 0) {
      options.trace = true;
    } else if (std::strcmp(argv[i], "--keep-going") == 0) {
      options.keep_going = true;
    } else if (value == nullptr) {
      return {};
    } else if (std::strcmp(argv[i], "--seed") == 0) {
      options.seed = std::strtoull(value, nullptr, 10);
      options.valid = true;
      ++i;
    } else if (std::strcmp(argv[i], "--seeds") == 0) {
      options.seeds = std::strtoull(value, nullptr, 10);
      ++i;
    } else if (std::strcmp(argv[i], "--minutes") == 0) {
      options.minutes = std::strtod(value, nullptr);
      if (options.seeds == 1) options.seeds = ~0ULL;
      ++i;
    } else {
      return {};
    }
  }
  return options;
}

}  // namespace

int main(int argc, char** argv) {
  const Options options = parse(argc, argv);
  if (!options.valid) {
    std::fputs(kUsage, stderr);
    return 2;
  }
  const auto start = std::chrono::steady_clock::now();
  const auto elapsed = [&start] {
    return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  };
  godwit::sim::Counters total;
  std::uint64_t done = 0, failed = 0, with_leader_crash = 0;
  for (; done < options.seeds && (failed == 0 || options.keep_going); ++done) {
    if (options.minutes > 0 && elapsed() > 60 * options.minutes) break;
    const godwit::sim::Outcome outcome = godwit::sim::run_seed(options.seed + done, options.trace);
    total.add(outcome.counters);
    if (outcome.counters[godwit::sim::Count::kLeaderCrashes] > 0) ++with_leader_crash;
    if (outcome.failure.empty()) continue;
    ++failed;
    std::printf("seed %llu: %s", static_cast<unsigned long long>(options.seed + done),
                outcome.failure.c_str());
  }
  std::printf("seeds=%llu failed=%llu with_leader_crash=%llu seeds_per_second=%.1f %s\n",
              static_cast<unsigned long long>(done), static_cast<unsigned long long>(failed),
              static_cast<unsigned long long>(with_leader_crash),
              static_cast<double>(done) / elapsed(), total.summary().c_str());
  return failed == 0 ? 0 : 1;
}
