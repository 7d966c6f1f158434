// godwit-bench: measures what Godwit does on this machine against what the machine could do.
#include <CLI/CLI.hpp>
#include <cstdio>

#include "bench/report.h"
#include "shared/base/log.h"
#include "shared/base/memory.h"
#include "shared/net/units.h"

namespace {

constexpr int kExitFailed = 1, kExitUsage = 2;

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
  try {
    app.parse(count, arguments);
  } catch (const CLI::ParseError& error) {
    return app.exit(error) == 0 ? 0 : kExitUsage;
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
  godwit::log::start("bench", godwit::log::Level::kError);
  return run_link(plan, json);
}
