// What a chaos measurement prints: a table for people, one JSON object for programs.
#include <algorithm>
#include <boost/json.hpp>
#include <cstdio>

#include "bench/chaos/chaos_bench.h"

namespace godwit::bench {
namespace {

using boost::json::object;

std::vector<double> seconds_of(const std::vector<Recovery>& recoveries, std::optional<FaultKind> kind = std::nullopt) {
  std::vector<double> seconds;
  for (const Recovery& recovery : recoveries) {
    if (!kind || recovery.kind == *kind) seconds.push_back(recovery.seconds);
  }
  return seconds;
}

double mean(const std::vector<Recovery>& recoveries, std::optional<double> Recovery::*part) {
  double sum = 0;
  std::size_t count = 0;
  for (const Recovery& recovery : recoveries) {
    if (!(recovery.*part)) continue;
    sum += *(recovery.*part);
    ++count;
  }
  return count == 0 ? 0 : sum / static_cast<double>(count);
}

// Of one name, in the order in which they are shown.
struct Figure {
  const char* name;
  double value;
};

std::vector<Figure> figures_of(const ChaosFigures& figures) {
  const std::vector<Recovery>& recoveries = figures.faulty.recoveries;
  return {{"goodput_ratio", figures.goodput_ratio()},
          {"tokens_per_second", figures.faulty.tokens_per_second},
          {"tokens_per_second_without_faults", figures.alone.tokens_per_second},
          {"recovery_p50_seconds", percentile(seconds_of(recoveries), 50)},
          {"recovery_p99_seconds", percentile(seconds_of(recoveries), 99)},
          {"detect_seconds", mean(recoveries, &Recovery::detect)},
          {"decide_seconds", mean(recoveries, &Recovery::decide)},
          {"transfer_seconds", mean(recoveries, &Recovery::transfer)},
          {"resume_seconds", mean(recoveries, &Recovery::resume)},
          {"longest_gap_seconds", figures.faulty.longest_gap},
          {"longest_gap_seconds_without_faults", figures.alone.longest_gap}};
}

// Both runs together.
std::vector<std::pair<const char*, std::uint64_t>> counts_of(const ChaosFigures& figures) {
  const cli::OfflineReport &one = figures.alone.audit, &other = figures.faulty.audit;
  return {{"pushes_acknowledged", one.pushes_acknowledged + other.pushes_acknowledged},
          {"pushes_in_log", one.pushes_in_log + other.pushes_in_log},
          {"pushes_missing", one.pushes_missing + other.pushes_missing},
          {"pushes_twice", one.pushes_twice + other.pushes_twice},
          {"history_events", figures.alone.history.events + figures.faulty.history.events},
          {"history_violations", figures.alone.history.violations.size() + figures.faulty.history.violations.size()}};
}

bool replicas_identical(const ChaosFigures& figures) {
  return figures.alone.hashes_equal && figures.alone.audit.replicas_identical && figures.faulty.hashes_equal &&
         figures.faulty.audit.replicas_identical;
}

// Complaints, and what audits and histories showed, in words.
std::vector<std::string> findings_of(const ChaosFigures& figures) {
  std::vector<std::string> findings;
  for (const ChaosRun* run : {&figures.alone, &figures.faulty}) {
    findings.insert(findings.end(), run->complaints.begin(), run->complaints.end());
    findings.insert(findings.end(), run->audit.faults.begin(), run->audit.faults.end());
    for (const history::Violation& violation : run->history.violations) findings.push_back(to_string(violation));
  }
  return findings;
}

template <class... Values>
std::string format(const char* pattern, Values... values) {
  char line[200];
  std::snprintf(line, sizeof(line), pattern, values...);
  return line;
}

}  // namespace

std::string chaos_table(const ChaosPlan& plan, const ChaosFigures& figures) {
  std::string text = format("3 regions, 2 shards; %.0f s without faults, %.0f s with %zu faults of seed %llu\n",
                            figures.alone.seconds, figures.faulty.seconds, figures.faulty.faults.size(),
                            static_cast<unsigned long long>(plan.seed));
  for (const auto& [name, value] : figures_of(figures)) text += format("%-36s %10.3f\n", name, value);
  for (const auto& [name, value] : counts_of(figures)) {
    text += format("%-36s %10llu\n", name, static_cast<unsigned long long>(value));
  }
  text += format("%-36s %10s\n", "replicas_identical", replicas_identical(figures) ? "yes" : "NO");
  text += format("%-36s %10s %10s %10s\n", "fault", "count", "median s", "longest s");
  for (const FaultKind kind : kFaultKinds) {
    const std::vector<double> seconds = seconds_of(figures.faulty.recoveries, kind);
    text += format("  %-34s %10zu %10.3f %10.3f\n", std::string(name(kind)).c_str(), seconds.size(),
                   percentile(seconds, 50), percentile(seconds, 100));
  }
  text += format("%-36s %10s %10s\n", "server", "memory x", "files +");
  for (const auto& [server, growth] : figures.faulty.growth) {
    text += format("  %-34s %10.2f %10lld\n", server.c_str(), growth.memory_ratio,
                   static_cast<long long>(growth.descriptors));
  }
  for (const std::string& finding : findings_of(figures)) text += "! " + finding + "\n";
  return text;
}

std::string chaos_json(const ChaosPlan& plan, const ChaosFigures& figures) {
  object all;
  const auto rounded = [](double value) { return static_cast<double>(static_cast<std::int64_t>(value * 1e4)) / 1e4; };
  for (const auto& [name, value] : figures_of(figures)) all[name] = rounded(value);
  for (const auto& [name, value] : counts_of(figures)) all[name] = value;
  all["history_closed"] = figures.alone.history.closed && figures.faulty.history.closed;
  all["replicas_identical"] = replicas_identical(figures);
  object counts, medians, longest, memory, descriptors;
  for (const FaultKind kind : kFaultKinds) {
    const std::vector<double> seconds = seconds_of(figures.faulty.recoveries, kind);
    const boost::json::string_view key(name(kind).data(), name(kind).size());
    counts[key] = seconds.size();
    medians[key] = rounded(percentile(seconds, 50));
    longest[key] = rounded(percentile(seconds, 100));
  }
  for (const auto& [server, growth] : figures.faulty.growth) {
    memory[server] = rounded(growth.memory_ratio);
    descriptors[server] = growth.descriptors;
  }
  boost::json::array findings;
  for (const std::string& finding : findings_of(figures)) findings.push_back(boost::json::string(finding));
  all["faults"] = std::move(counts);
  all["recovery_median_seconds_by_fault"] = std::move(medians);
  all["recovery_longest_seconds_by_fault"] = std::move(longest);
  all["memory_growth_ratio"] = std::move(memory);
  all["descriptor_growth"] = std::move(descriptors);
  all["findings"] = std::move(findings);
  all["seed"] = plan.seed;
  all["seconds_without_faults"] = rounded(figures.alone.seconds);
  all["seconds"] = rounded(figures.faulty.seconds);
  return boost::json::serialize(all) + "\n";
}

}  // namespace godwit::bench
