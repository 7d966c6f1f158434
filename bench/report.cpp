#include "bench/report.h"

#include <chrono>
#include <cstdio>
#include <utility>
#include <vector>

#include "shared/net/units.h"

namespace godwit::bench {
namespace {

using Row = std::pair<const char*, double>;

std::vector<Row> ratios(const LinkFigures& figures) {
  return {{"push_goodput_ratio", figures.push_ratio},
          {"durable_ratio", figures.durable_ratio},
          {"durable_fp32_ratio", figures.durable_fp32_ratio}};
}

std::vector<Row> rates(const LinkFigures& figures) {
  return {{"bare_tls_bytes_per_second", figures.bare_tls},
          {"push_bytes_per_second", figures.push},
          {"raw_rocksdb_bytes_per_second", figures.raw_rocksdb},
          {"durable_bytes_per_second", figures.durable},
          {"durable_fp32_bytes_per_second", figures.durable_fp32}};
}

template <class... Values>
std::string format(const char* pattern, Values... values) {
  char line[160];
  std::snprintf(line, sizeof(line), pattern, values...);
  return line;
}

double in_seconds(Duration duration) { return std::chrono::duration<double>(duration).count(); }

}  // namespace

std::string link_table(const LinkPlan& plan, const LinkFigures& figures) {
  std::string text = format("%s chunks, %.1f M parameters, %u pushes at once, medians of %u turns of %.2f s\n",
                            format_bytes(plan.chunk_bytes).c_str(), static_cast<double>(plan.parameters) / 1e6,
                            plan.window, plan.turns, in_seconds(plan.duration) / plan.turns);
  for (const auto& [name, value] : rates(figures)) text += format("%-32s %9.1f MB/s\n", name, value / 1e6);
  for (const auto& [name, value] : ratios(figures)) text += format("%-32s %9.3f\n", name, value);
  return text;
}

std::string link_json(const LinkPlan& plan, const LinkFigures& figures) {
  std::string text = "{";
  for (const auto& [name, value] : ratios(figures)) text += format("\"%s\": %.4f, ", name, value);
  for (const auto& [name, value] : rates(figures)) text += format("\"%s\": %.0f, ", name, value);
  text += format("\"chunk_bytes\": %llu, \"parameters\": %llu, \"window\": %u, \"turns\": %u, \"seconds\": %.3f}\n",
                 static_cast<unsigned long long>(plan.chunk_bytes), static_cast<unsigned long long>(plan.parameters),
                 plan.window, plan.turns, in_seconds(plan.duration));
  return text;
}

}  // namespace godwit::bench
