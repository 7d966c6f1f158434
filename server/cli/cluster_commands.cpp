#include "server/cli/cluster_commands.h"

#include <signal.h>

#include <thread>

#include "server/cli/admin_client.h"
#include "server/cli/exit_code.h"
#include "server/cli/table.h"
#include "shared/net/nearest_name.h"

namespace godwit::cli {
namespace {

using Clock = std::chrono::steady_clock;
using Servers = std::vector<const ServerConfig*>;

constexpr Duration kPoliteStop = seconds(10);
constexpr Duration kKillWait = seconds(5);
constexpr Duration kProbeDeadline = seconds(2);
constexpr auto kPoll = std::chrono::milliseconds(50);
constexpr std::size_t kLogLines = 5;

// Why a server is not ready yet; empty when it is.
std::string why_not_ready(const ServerConfig& server) {
  const AdminClient client(server.admin, "");
  const auto answer = client.get("/readyz", kProbeDeadline);
  if (!answer) return answer.error().context;
  if (answer->status == 200) return "";
  std::string failing;
  for (std::size_t at = answer->body.find("[-]"); at != std::string::npos;
       at = answer->body.find("[-]", at + 1)) {
    failing += (failing.empty() ? "" : "; ") +
               answer->body.substr(at + 3, answer->body.find('\n', at) - at - 3);
  }
  return failing.empty() ? "status " + std::to_string(answer->status) : failing;
}

int report_stuck(const ServerConfig& server, const ClusterConfig& config, const std::string& why,
                 bool ended, const Console& console) {
  const std::string log = config.log_file(server.name).string();
  const int code =
      report(console, Failure(ended ? "GODWIT-E3101" : "GODWIT-E1002",
                              server.name + (ended ? " ended at once" : " is not ready: " + why),
                              "read " + log));
  console.error << last_lines(log, kLogLines);
  return ended ? exit_code::kFailed : code;
}

// Until all answer /readyz, or one has ended, or the time is up.
int wait_ready(const Servers& servers, const ClusterConfig& config, const Processes& processes,
               Duration timeout, const Console& console) {
  const auto end = Clock::now() + timeout;
  for (const ServerConfig* server : servers) {
    for (std::string why = why_not_ready(*server); !why.empty(); why = why_not_ready(*server)) {
      const bool ended = !processes.find(server->name).has_value();
      if (ended || Clock::now() >= end) return report_stuck(*server, config, why, ended, console);
      std::this_thread::sleep_for(kPoll);
    }
  }
  return exit_code::kSuccess;
}

int start_all(const Servers& servers, const ClusterConfig& config, const Processes& processes,
              Duration timeout, const Console& console) {
  for (const ServerConfig* server : servers) {
    const auto started = processes.start(server->name);
    if (!started) return report(console, started.error());
  }
  const int code = wait_ready(servers, config, processes, timeout, console);
  if (code != exit_code::kSuccess) return code;
  Table table({{"SERVER"}, {"PROCESS", Table::Align::kRight}, {"DATA"}, {"ADMIN"}});
  for (const ServerConfig* server : servers) {
    table.add({server->name, std::to_string(processes.find(server->name).value_or(0)),
               to_string(server->data), "http://" + to_string(server->admin)});
  }
  console.out << table.text();
  return exit_code::kSuccess;
}

}  // namespace

Failure no_such_server(const ClusterConfig& config, const std::string& name) {
  std::vector<std::string> names;
  for (const ServerConfig& server : config.servers) names.push_back(server.name);
  const std::string nearest = nearest_name(name, names);
  return Failure(
      "GODWIT-E4002", "no [[server]] has the name \"" + name + "\"",
      nearest.empty() ? "use one of " + config.server_names() : "did you mean " + nearest + "?");
}

int run_up(const CommandLine& line, const ClusterConfig& config, const Processes& processes,
           const Console& console) {
  Servers missing;
  for (const ServerConfig& server : config.servers) {
    if (!processes.find(server.name)) missing.push_back(&server);
  }
  if (missing.empty()) {
    console.error << "all " << config.servers.size() << " servers run already\n";
    return exit_code::kSuccess;
  }
  const int code = start_all(missing, config, processes, line.timeout, console);
  if (code == exit_code::kSuccess)
    console.error << "next: godwit status -C " << config.folder.string() << "\n";
  return code;
}

int run_down(const ClusterConfig& config, const Processes& processes, const Console& console) {
  Servers running;
  for (const ServerConfig& server : config.servers) {
    if (processes.find(server.name)) running.push_back(&server);
  }
  for (const ServerConfig* server : running) {
    if (auto sent = processes.signal(server->name, SIGTERM); !sent)
      return report(console, sent.error());
  }
  const auto end = Clock::now() + kPoliteStop;
  for (const ServerConfig* server : running) {
    if (processes.wait_gone(server->name, std::max<Duration>(end - Clock::now(), Duration::zero())))
      continue;
    console.error << server->name << " did not stop in " << human_seconds(to_seconds(kPoliteStop))
                  << ": killed\n";
    if (auto sent = processes.signal(server->name, SIGKILL); !sent)
      return report(console, sent.error());
    if (!processes.wait_gone(server->name, kKillWait)) {
      return report(console, Failure("GODWIT-E1002", server->name + " does not end"));
    }
  }
  console.error << "stopped " << running.size() << " of " << config.servers.size() << " servers\n";
  return exit_code::kSuccess;
}

int run_kill(const CommandLine& line, const ClusterConfig& config, const Processes& processes,
             const Console& console) {
  if (config.find_server(line.name) == nullptr)
    return report(console, no_such_server(config, line.name));
  const auto pid = processes.find(line.name);
  if (!pid)
    return report(
        console, Failure("GODWIT-E4002", line.name + " does not run", "godwit start " + line.name));
  if (auto sent = processes.signal(line.name, SIGKILL); !sent) return report(console, sent.error());
  if (!processes.wait_gone(line.name, kKillWait)) {
    return report(console, Failure("GODWIT-E1002", line.name + " does not end"));
  }
  console.error << "killed " << line.name << " (process " << *pid << "); next: godwit start "
                << line.name << "\n";
  return exit_code::kSuccess;
}

int run_start(const CommandLine& line, const ClusterConfig& config, const Processes& processes,
              const Console& console) {
  const ServerConfig* const server = config.find_server(line.name);
  if (server == nullptr) return report(console, no_such_server(config, line.name));
  return start_all({server}, config, processes, line.timeout, console);
}

}  // namespace godwit::cli
