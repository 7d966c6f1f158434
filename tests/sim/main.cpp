// godwit-sim: runs seeds of the simulated cluster until one fails, the seeds are done, or the time
// is over.
#include <CLI/CLI.hpp>
#include <chrono>
#include <cstdio>

#include "tests/sim/cluster.h"

int main(int argc, char** argv) {
  CLI::App app{"Runs seeds of the simulated cluster", "godwit-sim"};
  std::uint64_t first = 0, seeds = 1;
  double minutes = 0;
  bool trace = false, keep_going = false;
  app.add_option("--seed", first, "the first seed")->required();
  CLI::Option* const how_many = app.add_option("--seeds", seeds, "how many seeds from there on (default 1)")
                                    ->check(CLI::PositiveNumber);
  CLI::Option* const how_long =
      app.add_option("--minutes", minutes, "stop after so many, however many seeds are left")
          ->check(CLI::PositiveNumber);
  app.add_flag("--trace", trace, "print every event");
  app.add_flag("--keep-going", keep_going, "do not stop at the first seed that fails");
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& error) {
    return app.exit(error) == 0 ? 0 : 2;
  }
  if (*how_long && !*how_many) seeds = ~std::uint64_t{0};
  const auto start = std::chrono::steady_clock::now();
  const auto elapsed = [&start] {
    return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  };
  godwit::sim::Counters total;
  std::uint64_t done = 0, failed = 0, with_leader_crash = 0;
  for (; done < seeds && (failed == 0 || keep_going); ++done) {
    if (*how_long && elapsed() > 60 * minutes) break;
    const godwit::sim::Outcome outcome = godwit::sim::run_seed(first + done, trace);
    total.add(outcome.counters);
    if (outcome.counters[godwit::sim::Count::kLeaderCrashes] > 0) ++with_leader_crash;
    if (outcome.failure.empty()) continue;
    ++failed;
    std::printf("seed %llu: %s", static_cast<unsigned long long>(first + done),
                outcome.failure.c_str());
  }
  std::printf("seeds=%llu failed=%llu with_leader_crash=%llu seeds_per_second=%.1f %s\n",
              static_cast<unsigned long long>(done), static_cast<unsigned long long>(failed),
              static_cast<unsigned long long>(with_leader_crash),
              static_cast<double>(done) / elapsed(), total.summary().c_str());
  return failed == 0 ? 0 : 1;
}
