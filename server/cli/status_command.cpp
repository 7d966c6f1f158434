#include "server/cli/status_command.h"

#include <algorithm>
#include <boost/json.hpp>
#include <set>
#include <thread>

#include "server/cli/admin_client.h"
#include "server/cli/exit_code.h"
#include "server/cli/json_fields.h"
#include "server/cli/table.h"

namespace godwit::cli {
namespace {

using boost::json::array;
using boost::json::object;

constexpr Duration kDeadline = seconds(3);
constexpr auto kPoll = std::chrono::milliseconds(100);

std::set<std::uint32_t> shards_of(const ClusterView& view) {
  std::set<std::uint32_t> shards;
  for (const ServerView& server : view.servers) {
    for (const ShardView& shard : server.shards) shards.insert(shard.shard);
  }
  return shards;
}

std::string upper(std::string_view text) {
  std::string result(text);
  std::ranges::transform(result, result.begin(),
                         [](unsigned char c) { return static_cast<char>(std::toupper(c)); });
  return result;
}

// The control host's view of the mode, or anybody's who answers.
const ServerView* spokesman(const ClusterView& view) {
  const ServerView* any = nullptr;
  for (const ServerView& server : view.servers) {
    if (!server.answers) continue;
    if (server.name == view.control) return &server;
    if (any == nullptr) any = &server;
  }
  return any;
}

std::string state_of(const ClusterView& view, const ServerView& server) {
  if (!server.answers) return "down";
  if (!server.ready) return "not ready";
  const bool link_down =
      std::ranges::any_of(server.links, [](const LinkView& link) { return !link.up; });
  return link_down || view.behind_versions(server) > kBehindVersions ? "degraded" : "ok";
}

std::string workers_text(const ServerView& server) {
  std::string text;
  for (const auto& [state, count] : server.workers) {
    text += (text.empty() ? "" : ", ") + std::to_string(count) + " " + state;
  }
  return text.empty() ? "-" : text;
}

std::string shards_led(const ServerView& server) {
  std::string text;
  for (const ShardView& shard : server.shards) {
    if (shard.leads) text += (text.empty() ? "" : ",") + std::to_string(shard.shard);
  }
  return text.empty() ? "-" : text;
}

// The version that a region has of everything: the lowest and highest of its shards.
std::string versions_text(const ServerView& server) {
  if (server.shards.empty()) return "-";
  const auto [low, high] = std::ranges::minmax_element(server.shards, {}, &ShardView::version);
  const std::string text = with_separators(low->version);
  return low->version == high->version ? text : text + " .. " + with_separators(high->version);
}

std::string heading(const ClusterView& view) {
  std::string text = "godwit " + view.cluster;
  if (const ServerView* const who = spokesman(view)) {
    text += " · v" + who->program_version + " · " + who->mode + " (mode epoch " +
            std::to_string(who->mode_epoch);
    if (who->mode == "sync") text += ", " + std::to_string(who->sync_steps) + " steps";
    text += ") · ack " + who->ack + " · control " + view.control + " · up " +
            human_seconds(who->up_seconds);
  }
  return text + "   " + upper(name(view.health())) + "\n";
}

std::string run_line(const ClusterView& view) {
  const ShardView* const clock = view.leader(0);
  if (clock == nullptr || clock->version == 0) return "no model yet: start a worker\n";
  std::uint64_t parameters = 0;
  for (const std::uint32_t shard : shards_of(view)) {
    if (const ShardView* const leader = view.leader(shard)) parameters += leader->parameters;
  }
  return "version " + with_separators(clock->version) + "   round " +
         with_separators(clock->round) + "   " + with_separators(clock->tokens) + " tokens   " +
         with_separators(parameters) + " parameters   optimizer " + clock->optimizer + "\n";
}

object server_object(const ClusterView& view, const ServerView& server) {
  array led;
  for (const ShardView& shard : server.shards) {
    if (shard.leads) led.push_back(shard.shard);
  }
  array links;
  for (const LinkView& link : server.links) {
    links.push_back(object{{"region", link.region},
                           {"up", link.up},
                           {"rtt_seconds", link.rtt_seconds},
                           {"sent_bytes", std::to_string(link.sent_bytes)},
                           {"received_bytes", std::to_string(link.received_bytes)}});
  }
  object workers;
  for (const auto& [state, count] : server.workers) workers[state] = count;
  return {{"name", server.region},
          {"server", server.name},
          {"state", state_of(view, server)},
          {"fault", server.fault},
          {"up_seconds", server.up_seconds},
          {"shards_led", std::move(led)},
          {"shards_total", server.shards.size()},
          {"behind_versions", view.behind_versions(server)},
          {"workers", std::move(workers)},
          {"links", std::move(links)},
          {"wan_sent_bytes", std::to_string(server.wan_sent_bytes())},
          {"wan_received_bytes", std::to_string(server.wan_received_bytes())}};
}

object shard_object(const ClusterView& view, std::uint32_t id) {
  array replicas;
  for (const ServerView& server : view.servers) {
    for (const ShardView& shard : server.shards) {
      if (shard.shard != id) continue;
      replicas.push_back(object{{"region", server.region},
                                {"leads", shard.leads},
                                {"version", std::to_string(shard.version)},
                                {"watermark", std::to_string(shard.watermark)},
                                {"mode", shard.mode},
                                {"mode_epoch", std::to_string(shard.mode_epoch)},
                                {"outbox_items", std::to_string(shard.outbox_items)}});
    }
  }
  object shard{{"shard", id},
               {"version", std::to_string(view.newest_version(id))},
               {"replicas", std::move(replicas)}};
  if (const ShardView* const leader = view.leader(id)) {
    shard["leader_region"] = leader->leader_region;
    shard["in_sync"] = boost::json::value_from(leader->in_sync);
    shard["epoch"] = std::to_string(leader->epoch);
    shard["round"] = std::to_string(leader->round);
    shard["tokens"] = std::to_string(leader->tokens);
    shard["parameters"] = std::to_string(leader->parameters);
    shard["optimizer"] = leader->optimizer;
    shard["waiting_for"] = leader->waiting_for;
  }
  return shard;
}

// Shards that do not show the mode yet on some server that answers; one without a leader counts.
std::uint32_t shards_without(const ClusterView& view, std::uint32_t shards,
                             std::uint64_t mode_epoch) {
  std::uint32_t missing = 0;
  for (std::uint32_t id = 0; id < shards; ++id) {
    if (view.leader(id) == nullptr) ++missing;
    for (const ServerView& server : view.servers) {
      if (!server.answers || view.leader(id) == nullptr) continue;
      const auto shown = std::ranges::any_of(server.shards, [&](const ShardView& shard) {
        return shard.shard == id && shard.mode_epoch >= mode_epoch;
      });
      if (shown) continue;
      ++missing;
      break;
    }
  }
  return missing;
}

int wait_for_mode(std::uint64_t mode_epoch, Duration timeout, const ClusterConfig& config,
                  const Console& console) {
  const auto end = std::chrono::steady_clock::now() + timeout;
  while (true) {
    const std::uint32_t missing =
        shards_without(look_at(config, kDeadline), config.run.shards, mode_epoch);
    if (missing == 0) return exit_code::kSuccess;
    if (std::chrono::steady_clock::now() >= end) {
      return report(console,
                    Failure("GODWIT-E1002",
                            std::to_string(missing) + " of " + std::to_string(config.run.shards) +
                                " shards do not show mode epoch " + std::to_string(mode_epoch) +
                                " everywhere; they follow by themselves",
                            "godwit status"));
    }
    std::this_thread::sleep_for(kPoll);
  }
}

}  // namespace

std::string status_table(const ClusterView& view) {
  Table table({{"REGION"},
               {"LEADS"},
               {"VERSION", Table::Align::kRight},
               {"BEHIND"},
               {"WORKERS"},
               {"WAN OUT", Table::Align::kRight},
               {"WAN IN", Table::Align::kRight},
               {"STATE"}});
  for (const ServerView& server : view.servers) {
    const std::uint64_t behind = view.behind_versions(server);
    table.add({server.region, shards_led(server), versions_text(server),
               behind == 0 ? "-" : std::to_string(behind) + " ver", workers_text(server),
               human_bytes(server.wan_sent_bytes()), human_bytes(server.wan_received_bytes()),
               state_of(view, server)});
  }
  std::string text = heading(view) + run_line(view) + "\n" + table.text();
  for (const std::uint32_t id : shards_of(view)) {
    const ShardView* const leader = view.leader(id);
    if (leader == nullptr) continue;
    for (const ServerView& server : view.servers) {
      if (std::ranges::find(leader->in_sync, server.region) == leader->in_sync.end()) {
        text += "\n  shard " + std::to_string(id) + ": " + server.region + " is not in sync";
      }
    }
    if (!leader->waiting_for.empty()) text += "\n  shard " + std::to_string(id) + ": " + leader->waiting_for;
  }
  for (const Finding& finding : view.findings()) {
    text += "\n! " + finding.code + "  " + finding.subject + " " + finding.text +
            "\n                fix: " + finding.fix + "   |   why: godwit explain " +
            finding.code.substr(finding.code.rfind('E'));
  }
  return text.ends_with('\n') ? text : text + "\n";
}

std::string status_json(const ClusterView& view) {
  array regions;
  std::uint64_t wan_sent_bytes = 0;
  for (const ServerView& server : view.servers) {
    regions.push_back(server_object(view, server));
    wan_sent_bytes += server.wan_sent_bytes();
  }
  array shards;
  for (const std::uint32_t id : shards_of(view)) shards.push_back(shard_object(view, id));
  array problems;
  for (const Finding& finding : view.findings()) {
    problems.push_back(
        object{{"code", finding.code},
               {"severity", finding.severity == Severity::kCritical ? "critical" : "warning"},
               {"subject", finding.subject},
               {"detail", finding.text},
               {"hint", finding.fix}});
  }
  object all{{"schema", "godwit.status/v1"},
             {"health", name(view.health())},
             {"cluster", view.cluster},
             {"control", view.control},
             {"regions", std::move(regions)},
             {"shards", std::move(shards)},
             {"wan_sent_bytes", std::to_string(wan_sent_bytes)},
             {"problems", std::move(problems)}};
  if (const ServerView* const who = spokesman(view)) {
    all["ack"] = who->ack;
    all["mode"] = object{{"mode", who->mode},
                         {"mode_epoch", std::to_string(who->mode_epoch)},
                         {"sync_steps", who->sync_steps}};
  }
  return boost::json::serialize(all) + "\n";
}

int status_exit_code(Health health, bool strict) {
  switch (health) {
    case Health::kOk:
      return exit_code::kSuccess;
    case Health::kDegraded:
      return strict ? exit_code::kDegraded : exit_code::kSuccess;
    case Health::kCritical:
      return exit_code::kCritical;
    case Health::kNoAnswer:
      return exit_code::kCannotConnect;
  }
  return exit_code::kBug;
}

int run_status(const CommandLine& line, const ClusterConfig& config, const Console& console) {
  const ClusterView view = look_at(config, kDeadline);
  const Health health = view.health();
  if (health == Health::kNoAnswer && line.format == Format::kTable) {
    return report(console, Failure("GODWIT-E1001",
                                   "none of " + std::to_string(view.servers.size()) +
                                       " servers answers; " + view.servers.front().fault,
                                   "godwit up -C " + config.folder.string()));
  }
  console.out << (line.format == Format::kJson ? status_json(view) : status_table(view));
  return status_exit_code(health, line.strict);
}

int run_mode(const CommandLine& line, const ClusterConfig& config, const Console& console) {
  const bool sync = line.command == Command::kModeSync;
  object body{{"mode", sync ? "sync" : "async"}};
  if (line.sync_steps != 0) body["sync_steps"] = line.sync_steps;
  const AdminClient client(config.control_server().admin, read_admin_token(config));
  const auto answer = client.post("/api/v1/mode", boost::json::serialize(body), seconds(15));
  if (!answer) return report(console, Failure(answer.error(), "godwit start " + config.control));
  if (answer->status != 200) return report(console, failure_of(*answer));
  boost::json::error_code error;
  const boost::json::value parsed = boost::json::parse(answer->body, error);
  const JsonFields mode(parsed);
  if (line.wait) {
    const int code = wait_for_mode(mode.number("mode_epoch"), *line.wait, config, console);
    if (code != exit_code::kSuccess) return code;
  }
  if (line.format == Format::kJson) {
    console.out << answer->body << "\n";
  } else {
    console.out << "mode " << mode.text("mode");
    if (sync) console.out << ", " << mode.number("sync_steps") << " steps";
    console.out << " (mode epoch " << mode.number("mode_epoch") << ")"
                << (line.wait ? ", on all shards" : "; shards follow") << "\n";
  }
  return exit_code::kSuccess;
}

}  // namespace godwit::cli
