#include "server/cli/verify_command.h"

#include <boost/json.hpp>
#include <thread>

#include "server/cli/admin_client.h"
#include "server/cli/cluster_view.h"
#include "server/cli/exit_code.h"
#include "server/cli/json_fields.h"
#include "server/cli/offline_audit.h"
#include "server/cli/replica_hashes.h"
#include "server/cli/table.h"

namespace godwit::cli {
namespace {

using boost::json::array;
using boost::json::object;
using Clock = std::chrono::steady_clock;

constexpr Duration kDeadline = seconds(10);
constexpr auto kPoll = std::chrono::milliseconds(100);

struct ShardComparison {
  std::uint32_t shard = 0;
  std::uint64_t version = 0;
  std::size_t replicas = 0;
  std::size_t blocks = 0;
  std::string difference;  // the first one; empty when identical
};

// kTimedOut when the replica does not reach the version in time.
Result<ReplicaHashes> hashes_at(const ServerConfig& server, const std::string& token, std::uint32_t shard,
                                std::uint64_t version, Clock::time_point end) {
  for (;;) {
    Result<ReplicaHashes> hashes = held_hashes(server, token, shard, version);
    if (hashes || hashes.error().code != Errc::kNotFound) return hashes;
    if (Clock::now() >= end) {
      return Error{Errc::kTimedOut, server.name + " does not have version " + std::to_string(version) + " of shard " +
                                        std::to_string(shard) + ": " + hashes.error().context};
    }
    std::this_thread::sleep_for(kPoll);
  }
}

Result<ShardComparison> compare_shard(const ClusterConfig& config, const ClusterView& view,
                                      std::uint32_t shard, Clock::time_point end) {
  const std::string token = read_admin_token(config);
  ShardComparison comparison{shard, view.newest_version(shard), config.servers.size(), 0, ""};
  std::optional<ReplicaHashes> first;
  for (const ServerConfig& server : config.servers) {
    auto hashes = hashes_at(server, token, shard, comparison.version, end);
    if (!hashes) return hashes.error();
    if (!first) {
      first = std::move(*hashes);
      comparison.blocks = first->blocks.size();
    } else if (const std::string found = first_difference(*first, *hashes); !found.empty()) {
      comparison.difference =
          config.servers.front().region + " and " + server.region + " differ in " + found;
      break;
    }
  }
  return comparison;
}

int print_comparisons(const std::vector<ShardComparison>& comparisons, Format format,
                      const Console& console) {
  bool identical = true;
  array shards;
  Table table({{"SHARD", Table::Align::kRight},
               {"VERSION", Table::Align::kRight},
               {"REPLICAS", Table::Align::kRight},
               {"BLOCKS", Table::Align::kRight},
               {"RESULT"}});
  for (const ShardComparison& shard : comparisons) {
    const bool same = shard.difference.empty();
    identical = identical && same;
    table.add({std::to_string(shard.shard), with_separators(shard.version),
               std::to_string(shard.replicas), std::to_string(shard.blocks),
               same ? "identical" : shard.difference});
    shards.push_back(object{{"shard", shard.shard},
                            {"version", std::to_string(shard.version)},
                            {"replicas", shard.replicas},
                            {"blocks", shard.blocks},
                            {"identical", same},
                            {"difference", shard.difference}});
  }
  if (format == Format::kJson) {
    const object all{{"schema", "godwit.verify/v1"},
                     {"replicas_identical", identical},
                     {"shards", std::move(shards)}};
    console.out << boost::json::serialize(all) << "\n";
  } else {
    console.out << table.text() << (identical ? "identical\n" : "");
  }
  if (identical) return exit_code::kSuccess;
  return report(console,
                Failure("GODWIT-E3201", "regions hold different bytes at the same version"));
}

std::string report_json(const OfflineReport& report, const std::vector<ReplicaAudit>& replicas) {
  array shards;
  for (const ShardVerdict& shard : report.shards) {
    object last;
    for (const ReplicaAudit& replica : replicas) {
      const auto log = replica.logs().find(shard.shard);
      last[replica.region()] = log == replica.logs().end() ? 0 : log->second.last().value();
    }
    shards.push_back(object{{"shard", shard.shard.value()},
                            {"first_version", shard.first.value()},
                            {"last_version", shard.last.value()},
                            {"common_version", shard.common.value()},
                            {"replicas", std::move(last)},
                            {"identical", shard.identical}});
  }
  array faults;
  for (const std::string& fault : report.faults) faults.push_back(boost::json::string(fault));
  const object all{{"schema", "godwit.verify_offline/v1"},
                   {"passed", report.passed()},
                   {"replicas_identical", report.replicas_identical},
                   {"pushes_acknowledged", report.pushes_acknowledged},
                   {"pushes_in_log", report.pushes_in_log},
                   {"pushes_missing", report.pushes_missing},
                   {"pushes_in_outbox", report.pushes_in_outbox},
                   {"pushes_twice", report.pushes_twice},
                   {"versions", report.versions},
                   {"rounds_async", report.rounds_async},
                   {"rounds_sync", report.rounds_sync},
                   {"mode_switches", report.mode_switches},
                   {"tokens", report.tokens},
                   {"snapshot_blocks_checked", report.snapshot_blocks_checked},
                   {"shards", std::move(shards)},
                   {"faults", std::move(faults)}};
  return boost::json::serialize(all) + "\n";
}

std::string report_table(const OfflineReport& report) {
  Table table({{"WHAT"}, {"COUNT", Table::Align::kRight}});
  const auto row = [&table](const char* what, std::uint64_t count) {
    table.add({what, with_separators(count)});
  };
  row("versions", report.versions);
  row("rounds async", report.rounds_async);
  row("rounds sync", report.rounds_sync);
  row("mode switches", report.mode_switches);
  row("tokens", report.tokens);
  row("snapshot blocks checked", report.snapshot_blocks_checked);
  row("pushes acknowledged", report.pushes_acknowledged);
  row("pushes in log", report.pushes_in_log);
  row("pushes missing", report.pushes_missing);
  if (report.pushes_in_outbox > 0) row("  of these in an outbox", report.pushes_in_outbox);
  row("pushes twice", report.pushes_twice);
  std::string text = table.text();
  text += report.replicas_identical ? "replicas identical\n" : "replicas NOT identical\n";
  for (const std::string& fault : report.faults) text += "! " + fault + "\n";
  return text;
}

int report_audit(const OfflineReport& report, const Console& console) {
  if (report.passed()) return exit_code::kSuccess;
  if (report.pushes_missing > 0 || report.pushes_twice > 0) {
    return cli::report(
        console, Failure("GODWIT-E6101", std::to_string(report.pushes_missing) + " missing, " +
                                             std::to_string(report.pushes_twice) + " twice"));
  }
  if (!report.replicas_identical)
    return cli::report(console, Failure("GODWIT-E3201", "see the faults above"));
  return cli::report(console, Failure("GODWIT-E6001", report.faults.front()));
}

}  // namespace

int run_verify(const CommandLine& line, const ClusterConfig& config, const Console& console) {
  const Clock::time_point end = Clock::now() + line.timeout;
  const ClusterView view = look_at(config, kDeadline);
  for (const ServerView& server : view.servers) {
    if (!server.answers) {
      return report(console, Failure("GODWIT-E1001", server.name + ": " + server.fault,
                                     "godwit start " + server.name));
    }
  }
  std::vector<ShardComparison> comparisons;
  for (std::uint32_t shard = 0; shard < config.run.shards; ++shard) {
    if (view.newest_version(shard) == 0) {
      return report(
          console, Failure("GODWIT-E4002", "shard " + std::to_string(shard) + " has no version yet",
                           "start a worker: there is no model"));
    }
    auto comparison = compare_shard(config, view, shard, end);
    if (!comparison) return report(console, comparison.error());
    comparisons.push_back(std::move(*comparison));
  }
  return print_comparisons(comparisons, line.format, console);
}

int run_verify_offline(const CommandLine& line, const ClusterConfig& config,
                       const Processes& processes, const Console& console) {
  for (const ServerConfig& server : config.servers) {
    if (!processes.find(server.name)) continue;
    return report(console,
                  Failure("GODWIT-E2004", server.name + " runs", "godwit down -C " + config.folder.string()));
  }
  std::set<ShardPush> acknowledged;
  for (const auto& file : line.acknowledgements) {
    if (auto read = read_acknowledgements(file, acknowledged); !read)
      return report(console, read.error());
  }
  std::vector<ReplicaAudit> replicas;
  for (const ServerConfig& server : config.servers) {
    ReplicaAudit& replica = replicas.emplace_back(server.region);
    const auto read = read_store(config.data_directory(server.name), replica);
    if (!read && read.error().code == Errc::kConflict) {
      return report(console, Failure("GODWIT-E2004", read.error().context,
                                     "godwit down -C " + config.folder.string()));
    }
    if (!read) return report(console, read.error());
  }
  const OfflineReport result = audit(replicas, config.run.shards, acknowledged);
  console.out << (line.format == Format::kJson ? report_json(result, replicas)
                                               : report_table(result));
  return report_audit(result, console);
}

}  // namespace godwit::cli
