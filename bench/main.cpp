// godwit-bench: measures what Godwit does on this machine against what the machine could do.
#include <CLI/CLI.hpp>
#include <cstdio>

#include "bench/chaos/chaos_bench.h"
#include "bench/report.h"
#include "shared/base/log.h"
#include "shared/base/memory.h"
#include "shared/net/units.h"

namespace {

constexpr int kExitFailed = 1, kExitUsage = 2, kExitInterrupted = 130;

int run_link(godwit::bench::LinkPlan plan, bool json) {
  using namespace godwit;
  const Result<bench::LinkFigures> figures = bench::measure_link(plan);
  if (!figures) {
    std::fprintf(stderr, "error: %s\n", figures.error().to_string().c_str());
    return kExitFailed;
  }
  const std::string text = json ? bench::link_json(plan, *figures) : bench::link_table(plan, *figures);
  std::fputs(text.c_str(), stdout);
  return 0;
}

int run_chaos(const godwit::bench::ChaosPlan& plan, double longest_gap, bool json) {
  using namespace godwit;
  const Result<bench::ChaosFigures> figures = bench::measure_chaos(plan);
  if (!figures) {
    std::fprintf(stderr, "error: %s\n", figures.error().to_string().c_str());
    return figures.error().code == Errc::kClosed ? kExitInterrupted : kExitFailed;
  }
  const std::string text = json ? bench::chaos_json(plan, *figures) : bench::chaos_table(plan, *figures);
  std::fputs(text.c_str(), stdout);
  return figures->passed() && figures->faulty.longest_gap < longest_gap ? 0 : kExitFailed;
}

}  // namespace

int main(int count, char** arguments) {
  CLI::App app{"godwit-bench: measures Godwit against its machine", "godwit-bench"};
  app.require_subcommand(1);
  godwit::bench::LinkPlan plan;
  bool json = false;
  double seconds = 5;
  std::string chunk = "4MiB", directory = std::filesystem::temp_directory_path().string();
  CLI::App* link = app.add_subcommand("link", "pushes against a bare TLS stream and raw RocksDB");
  link->add_flag("--json", json, "one JSON object instead of a table");
  link->add_option("--seconds", seconds, "time for each figure, over all turns")->check(CLI::Range(0.1, 600.0));
  link->add_option("--chunk", chunk, "size of a TLS write and of a block: at most 4MiB");
  link->add_option("--parameters", plan.parameters, "of the model")->check(CLI::Range(1U, 1U << 30));
  link->add_option("--window", plan.window, "pushes unacknowledged at once")->check(CLI::Range(1U, 1024U));
  link->add_option("--turns", plan.turns, "how often each figure is measured")->check(CLI::Range(1U, 1000U));
  link->add_option("--directory", directory, "for the stores: on the disk to be measured")
      ->check(CLI::ExistingDirectory);
  godwit::bench::ChaosPlan chaos_plan;
  double minutes = 3, longest_gap = 1e9;
  CLI::App* chaos = app.add_subcommand("chaos", "three regions of real processes, and a fault every few seconds");
  chaos->add_flag("--json", json, "one JSON object instead of a table");
  chaos->add_option("--minutes", minutes, "half of them without faults")->check(CLI::Range(0.2, 10'000.0));
  chaos->add_option("--seed", chaos_plan.seed, "of the sequence of faults");
  chaos->add_option("--longest-gap", longest_gap, "seconds without a new version that make it fail");
  chaos->add_option("--directory", directory, "for stores and logs")->check(CLI::ExistingDirectory);
  try {
    app.parse(count, arguments);
  } catch (const CLI::ParseError& error) {
    return app.exit(error) == 0 ? 0 : kExitUsage;
  }
  godwit::log::start("bench", godwit::log::Level::kError);
  if (chaos->parsed()) {
    chaos_plan.duration = godwit::Duration(static_cast<std::int64_t>(minutes * 60e9));
    chaos_plan.directory = directory;
    return run_chaos(chaos_plan, longest_gap, json);
  }
  const godwit::Result<std::uint64_t> chunk_bytes = godwit::parse_bytes(chunk);
  if (!chunk_bytes || *chunk_bytes < 4096 || *chunk_bytes > (4U << 20) || *chunk_bytes % 4 != 0) {
    std::fprintf(stderr, "error: --chunk %s: from 4KiB to 4MiB, a multiple of 4\n", chunk.c_str());
    return kExitUsage;
  }
  plan.chunk_bytes = *chunk_bytes;
  plan.duration = godwit::Duration(static_cast<std::int64_t>(seconds * 1e9));
  plan.directory = directory;
  godwit::keep_freed_memory();
  return run_link(plan, json);
}
