#include "server/cli/doctor_command.h"

#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <boost/json.hpp>
#include <fstream>
#include <future>
#include <iterator>

#include "server/cli/admin_client.h"
#include "server/cli/cluster_commands.h"
#include "server/cli/cluster_view.h"
#include "server/cli/diagnosis.h"
#include "server/cli/exit_code.h"
#include "server/cli/table.h"

namespace godwit::cli {
namespace {

constexpr Duration kStepLimit = seconds(3);
using Checks = std::vector<Check>;

struct Visit {
  Checks checks;
  std::optional<ClockFinding> clock;
};

net::Identity identity_of(const ClusterConfig& config, const ServerConfig& server) {
  return {config.name, server.region, net::Role::kServer, server.name};
}

std::string read_text(const std::filesystem::path& file) {
  std::ifstream in(file, std::ios::binary);
  return std::string(std::istreambuf_iterator<char>(in), std::istreambuf_iterator<char>());
}

FileFacts facts_of_file(const std::filesystem::path& file, bool secret) {
  struct stat info {};
  const bool exists = ::stat(file.c_str(), &info) == 0;
  return {file.string(), exists, ::access(file.c_str(), R_OK) == 0, info.st_mode & 07777U, secret};
}

// Where the store is, or will be made.
std::uint64_t free_bytes_at(std::filesystem::path directory) {
  std::error_code error;
  while (!std::filesystem::exists(directory, error) && directory.has_relative_path())
    directory = directory.parent_path();
  return std::filesystem::space(directory.empty() ? "." : directory, error).available;
}

// ---- this machine

Checks look_at_own_files(const ClusterConfig& config, const ServerConfig& server, WallTime now) {
  Checks checks;
  const auto certificate_file = config.certificate_file(server.name);
  checks.push_back(check_files(server.name, {facts_of_file(config.authority_file(), false),
                                             facts_of_file(certificate_file, false),
                                             facts_of_file(config.key_file(server.name), true),
                                             facts_of_file(config.admin_token_file(), true)}));
  if (checks.back().state == CheckState::kFailed) return checks;
  const std::string pem = read_text(certificate_file);
  const auto facts = net::read_certificate_facts(pem);
  if (!facts) {
    checks.push_back(failed(server.name, "certificate", "GODWIT-E1101",
                            certificate_file.string() + ": " + facts.error().context,
                            "copy it again"));
  } else {
    const OwnCertificate own{certificate_file.string(), *facts,
                             net::is_signed_by(pem, read_text(config.authority_file())),
                             net::is_key_of(read_text(config.key_file(server.name)), pem)};
    checks.push_back(check_own_certificate(identity_of(config, server), own, now));
  }
  if (!net::is_own_address(server.data.host)) {
    checks.push_back(failed(
        server.name, "address", "GODWIT-E2001",
        "data is " + to_string(server.data) + ", and no interface of this machine has that address",
        "write a numeric address of this machine (`ip address`), or run this on its own machine"));
  }
  const auto directory = config.data_directory(server.name);
  checks.push_back(check_disk(server.name, directory.string(), free_bytes_at(directory)));
  return checks;
}

Check look_at_limits() {
  rlimit limit{};
  ::getrlimit(RLIMIT_NOFILE, &limit);
  return check_descriptors(limit.rlim_cur);
}

// ---- servers

// On loopback of another machine: only a tunnel leads there.
bool needs_tunnel(const ServerConfig& server, bool own) {
  return !own && server.admin.is_loopback() && !server.data.is_loopback();
}

void visit_admin_port(const ServerConfig& server, const std::string& token, bool own,
                      Visit& visit) {
  const net::TcpFinding found = net::probe_tcp(server.admin.host, server.admin.port, kStepLimit);
  if (found.reach != net::Reach::kConnected && needs_tunnel(server, own)) {
    visit.checks.push_back(
        skipped(server.name, "admin port", to_string(server.admin) + " of its own machine only"));
    return;
  }
  Check check = check_port(server.name, "admin", server.admin, found, kStepLimit);
  if (check.state == CheckState::kOk) {
    const auto asked = std::chrono::system_clock::now();
    const auto answer = AdminClient(server.admin, token).get("/api/v1/status", kStepLimit);
    const auto view = answer && answer->status == 200 ? parse_server_view(answer->body)
                                                      : Result<ServerView>(Error{});
    if (!answer || (answer->status == 200 && !view)) {
      check = failed(server.name, "admin port", "GODWIT-E5003",
                     (answer ? view.error() : answer.error()).context,
                     "is admin of cluster.toml right?");
    } else if (answer->status != 200) {
      const Failure why = failure_of(*answer);
      check = failed(server.name, "admin port", std::string(why.problem->code), why.detail,
                     "copy admin.token from the folder that `godwit init` made");
    } else {
      check.detail += view->ready ? "" : ", not ready: " + view->fault;
    }
    if (answer && answer->date) visit.clock = ClockFinding{server.name, *answer->date - asked};
  }
  visit.checks.push_back(std::move(check));
}

// `context`: null where our own certificate cannot be shown.
Visit look_at_server(const ClusterConfig& config, const ServerConfig& server,
                     const net::TlsContext* context, const std::string& token, bool own) {
  Visit visit;
  const net::TcpFinding found = net::probe_tcp(server.data.host, server.data.port, kStepLimit);
  visit.checks.push_back(check_port(server.name, "data", server.data, found, kStepLimit));
  if (found.reach == net::Reach::kConnected && !own) {
    visit.checks.push_back(context == nullptr
                               ? skipped(server.name, "TLS", "our own certificate is wrong")
                               : check_handshake(identity_of(config, server), server.data,
                                                 net::probe_tls(server.data.host, server.data.port,
                                                                *context, kStepLimit),
                                                 std::chrono::system_clock::now()));
  }
  visit_admin_port(server, token, own, visit);
  return visit;
}

// All at once: an address that does not answer takes its time.
Checks look_at_servers(const ClusterConfig& config, const ServerConfig& self, bool own_is_right) {
  std::optional<net::TlsContext> context;
  const auto options = net::load_tls_options(
      config.authority_file(), config.certificate_file(self.name), config.key_file(self.name));
  if (options && own_is_right) {
    auto made = net::TlsContext::create(net::TlsSide::kClient, *options);
    if (made) context = std::move(*made);
  }
  const std::string token = read_admin_token(config);
  std::vector<std::future<Visit>> visits;
  for (const ServerConfig& server : config.servers) {
    visits.push_back(std::async(
        std::launch::async, [&config, &server, &context, &token, own = &server == &self] {
          return look_at_server(config, server, context ? &*context : nullptr, token, own);
        }));
  }
  Checks checks;
  std::vector<ClockFinding> clocks;
  for (std::future<Visit>& each : visits) {
    Visit visit = each.get();
    std::ranges::move(visit.checks, std::back_inserter(checks));
    if (visit.clock && visit.clock->server != self.name) clocks.push_back(*visit.clock);
  }
  std::ranges::move(check_clocks(clocks), std::back_inserter(checks));
  return checks;
}

// ---- the report

// One error per subject: the first that is wrong there is why the rest is.
int print(const Checks& checks, const std::string& self, Format format, const Console& console) {
  const bool all_well = std::ranges::none_of(
      checks, [](const Check& check) { return check.state == CheckState::kFailed; });
  if (format == Format::kJson) {
    boost::json::array rows;
    for (const Check& check : checks) {
      rows.push_back(boost::json::object{
          {"subject", check.subject},
          {"check", check.name},
          {"state", check.state == CheckState::kFailed ? "failed" : name(check.state)},
          {"detail", check.detail},
          {"code", check.code},
          {"fix", check.fix}});
    }
    console.out << boost::json::serialize(boost::json::object{{"schema", "godwit.doctor/v1"},
                                                              {"passed", all_well},
                                                              {"server", self},
                                                              {"checks", rows}})
                << "\n";
  } else {
    Table table({{"WHO"}, {"CHECK"}, {"RESULT"}, {"WHAT"}});
    for (const Check& check : checks)
      table.add({check.subject, check.name, std::string(name(check.state)), check.detail});
    console.out << table.text();
  }
  std::vector<std::string> said;
  for (const Check& check : checks) {
    if (check.state != CheckState::kFailed || std::ranges::count(said, check.subject) > 0) continue;
    said.push_back(check.subject);
    report(console, Failure(check.code, check.subject + ": " + check.detail, check.fix));
  }
  return all_well ? exit_code::kSuccess : exit_code::kFailed;
}

// Those that this machine is: the one that was named, or whose keys are here.
std::vector<const ServerConfig*> own_servers(const CommandLine& line, const ClusterConfig& config) {
  std::vector<const ServerConfig*> own;
  std::error_code error;
  for (const ServerConfig& server : config.servers) {
    const bool named = !line.name.empty() || !line.region.empty();
    const bool is_it = named ? server.name == line.name || server.region == line.region
                             : std::filesystem::exists(config.key_file(server.name), error);
    if (is_it) own.push_back(&server);
  }
  return own;
}

}  // namespace

int run_doctor(const CommandLine& line, const Console& console) {
  const auto config = load_cluster_config(line.directory / kClusterFileName);
  const std::string machine(kThisMachine);
  if (!config) {
    return print({failed(machine, "cluster.toml", std::string(problem_of(config.error().code).code),
                         config.error().context, "")},
                 "", line.format, console);
  }
  const auto own = own_servers(line, *config);
  if (own.empty() && !line.region.empty()) {
    return report(console, Failure("GODWIT-E4002", "no [[server]] is of region \"" + line.region + "\"",
                                   "see the regions in " + (line.directory / kClusterFileName).string()));
  }
  if (own.empty() && !line.name.empty()) return report(console, no_such_server(*config, line.name));
  Checks checks = {check_addresses(*config)};
  if (own.empty()) {
    checks.push_back(failed(
        machine, "files", "GODWIT-E2005",
        "no server's key is in " + config->authority_file().parent_path().string(),
        "copy the .crt and .key of this machine's server there, from the folder of `godwit init`"));
    return print(checks, "", line.format, console);
  }
  checks.push_back(look_at_limits());
  for (const ServerConfig* server : own)
    std::ranges::move(look_at_own_files(*config, *server, std::chrono::system_clock::now()),
                      std::back_inserter(checks));
  const ServerConfig& self = *own.front();
  const bool own_is_right = std::ranges::none_of(checks, [&self](const Check& check) {
    return check.state == CheckState::kFailed && check.subject == self.name &&
           (check.name == "files" || check.name == "certificate");
  });
  std::ranges::move(look_at_servers(*config, self, own_is_right), std::back_inserter(checks));
  return print(checks, self.name, line.format, console);
}

}  // namespace godwit::cli
