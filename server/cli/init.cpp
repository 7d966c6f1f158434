#include "server/cli/init.h"

#include <arpa/inet.h>
#include <openssl/rand.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <charconv>
#include <cstring>
#include <fstream>
#include <random>

#include "server/cli/exit_code.h"
#include "server/cli/table.h"
#include "shared/net/certificates.h"
#include "shared/net/units.h"

namespace godwit::cli {
namespace {

constexpr int kAuthorityDays = 3650;
constexpr int kCertificateDays = 825;
constexpr std::uint32_t kRegionsMax = 64;
constexpr std::uint32_t kWorkersMax = 1024;
// Of servers on machines of their own. On loopback each admin port is another one, so that one
// machine can hold the ends of tunnels to all.
constexpr std::uint16_t kDataPort = 7700;
constexpr std::uint16_t kFirstAdminPort = 7780;
constexpr std::array kRegionNames = {"us-west", "eu-central", "ap-southeast", "us-east",
                                     "sa-east", "eu-north",   "ap-south",     "af-south"};

Error flag_error(const std::string& flag, const std::string& what) {
  return Error{Errc::kConfig, flag + ": " + what};
}

Result<std::vector<std::string>> region_names(const std::string& flag) {
  std::uint32_t count = 0;
  const auto [end, error] = std::from_chars(flag.data(), flag.data() + flag.size(), count);
  std::vector<std::string> names;
  if (error == std::errc() && end == flag.data() + flag.size()) {
    for (std::uint32_t i = 0; i < std::min(count, kRegionsMax + 1); ++i) {
      names.push_back(i < kRegionNames.size() ? kRegionNames[i]
                                              : "region-" + std::to_string(i + 1));
    }
  } else {
    for (std::size_t at = 0; at <= flag.size();
         at = std::min(flag.find(',', at), flag.size()) + 1) {
      names.push_back(flag.substr(at, flag.find(',', at) - at));
    }
  }
  if (names.empty() || names.size() > kRegionsMax) {
    return flag_error("--regions", "from 1 to " + std::to_string(kRegionsMax) +
                                       " regions, as in 3 or us-west,eu-central");
  }
  return names;
}

// Sets `out` from a flag that was given. `parse` gives Result<T>.
template <class T, class Parse>
Result<void> read_flag(const std::string& flag, const std::string& text, T& out, Parse parse) {
  if (text.empty()) return {};
  auto value = parse(text);
  if (!value) return flag_error(flag, value.error().context);
  out = *value;
  return {};
}

// Ports below those that systems give to outgoing connections (Linux: from 32768). Above, a peer
// that dials a server which is down could be given the server's own port, connect to itself, and
// keep the port from it.
constexpr std::uint16_t kFirstPort = 20'000;
constexpr std::uint16_t kPortCount = 10'000;

// Free loopback ports, each held until all are picked, so that no two are the same. Starts
// somewhere, so that two clusters made at the same time hardly meet.
class PortPicker {
 public:
  PortPicker() : next_(static_cast<std::uint16_t>(std::random_device()() % kPortCount)) {}
  ~PortPicker() {
    for (const int socket : held_) ::close(socket);
  }
  PortPicker(const PortPicker&) = delete;
  PortPicker& operator=(const PortPicker&) = delete;

  Result<std::uint16_t> pick() {
    for (int tried = 0; tried < kPortCount; ++tried) {
      const auto port = static_cast<std::uint16_t>(kFirstPort + next_);
      next_ = static_cast<std::uint16_t>((next_ + 1) % kPortCount);
      if (take(port)) return port;
    }
    return Error{Errc::kIo, std::string("no free loopback port: ") + std::strerror(errno)};
  }

 private:
  bool take(std::uint16_t port) {
    const int socket = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_port = htons(port);
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    if (socket < 0) return false;
    const bool free =
        ::bind(socket, reinterpret_cast<const sockaddr*>(&address), sizeof(address)) == 0;
    if (free)
      held_.push_back(socket);
    else
      ::close(socket);
    return free;
  }

  std::uint16_t next_;
  std::vector<int> held_;
};

Result<void> write_public_file(const std::filesystem::path& file, std::string_view text) {
  std::ofstream out(file, std::ios::binary);
  out << text;
  out.close();
  if (!out) return Error{Errc::kIo, "writing " + file.string() + ": " + std::strerror(errno)};
  return {};
}

Result<void> write_certificate(const ClusterConfig& config, const net::CertifiedKey& authority,
                               const std::string& holder, const net::Identity& identity) {
  const auto issued =
      net::issue_certificate(authority, identity, net::valid_for_days(kCertificateDays));
  if (!issued) return issued.error();
  if (auto written = write_public_file(config.certificate_file(holder), issued->certificate_pem);
      !written)
    return written;
  return net::write_private_file(config.key_file(holder), issued->private_key_pem);
}

Result<void> write_certificates(const ClusterConfig& config, std::uint32_t workers) {
  const auto authority = net::create_authority(config.name, net::valid_for_days(kAuthorityDays));
  if (!authority) return authority.error();
  if (auto written = write_public_file(config.authority_file(), authority->certificate_pem);
      !written)
    return written;
  if (auto written = net::write_private_file(config.key_file("ca"), authority->private_key_pem);
      !written)
    return written;
  for (const ServerConfig& server : config.servers) {
    const net::Identity identity{config.name, server.region, net::Role::kServer, server.name};
    if (auto written = write_certificate(config, *authority, server.name, identity); !written)
      return written;
    for (std::uint32_t i = 0; i < workers; ++i) {
      const net::Identity worker{config.name, server.region, net::Role::kWorker,
                                 "worker-" + std::to_string(i)};
      const std::string holder = worker_certificate(server.region, worker.name);
      if (auto written = write_certificate(config, *authority, holder, worker); !written)
        return written;
    }
  }
  const net::Identity person{config.name, config.control_server().region, net::Role::kOperator,
                             "operator"};
  return write_certificate(config, *authority, "operator", person);
}

Result<std::string> make_token() {
  std::array<unsigned char, 32> raw{};
  if (RAND_bytes(raw.data(), raw.size()) != 1)
    return Error{Errc::kInternal, "no random bytes for admin.token"};
  constexpr std::string_view kDigits = "0123456789abcdef";
  std::string token;
  for (const unsigned char byte : raw) token += {kDigits[byte >> 4U], kDigits[byte & 15U]};
  return token;
}

// "us-west", or "us-west=10.77.0.1": on that machine.
Result<ServerConfig> plan_server(const std::string& text, std::uint16_t index, bool open_admin) {
  const std::size_t equals = text.find('=');
  ServerConfig server;
  server.name = server.region = text.substr(0, equals);
  server.region_id = RegionId(index);
  server.data.host = server.admin.host = "127.0.0.1";
  if (equals == std::string::npos) return server;
  server.data.host = text.substr(equals + 1);
  std::array<unsigned char, sizeof(in6_addr)> parsed{};
  if (::inet_pton(AF_INET, server.data.host.c_str(), parsed.data()) != 1 &&
      ::inet_pton(AF_INET6, server.data.host.c_str(), parsed.data()) != 1) {
    return flag_error("--regions", '"' + server.data.host +
                                       "\" is no numeric address: servers listen on it and others "
                                       "dial it, as in us-west=10.77.0.1");
  }
  server.data.port = kDataPort;
  server.admin.port = static_cast<std::uint16_t>(kFirstAdminPort + (open_admin ? 0 : index));
  server.admin_beyond_loopback = open_admin;
  if (open_admin) server.admin.host = server.data.host;
  return server;
}

}  // namespace

Result<ClusterConfig> plan_cluster(const InitFlags& flags) {
  auto regions = region_names(flags.regions);
  if (!regions) return regions.error();
  ClusterConfig config;
  config.name = flags.name;
  for (const std::string& region : *regions) {
    auto server = plan_server(region, static_cast<std::uint16_t>(config.regions.size()),
                              flags.admin_beyond_loopback);
    if (!server) return server.error();
    config.regions.push_back(server->region);
    config.servers.push_back(std::move(*server));
  }
  const auto has_machine = [](const ServerConfig& server) { return server.data.port != 0; };
  const auto machines = std::ranges::count_if(config.servers, has_machine);
  if (machines != 0 && machines != std::ssize(config.servers))
    return flag_error("--regions", "give all regions an address, or none");
  if (flags.admin_beyond_loopback && machines == 0)
    return flag_error("--admin-beyond-loopback", "needs addresses, as in --regions us=10.77.0.1");
  config.control = flags.control.empty() ? config.regions.front() : flags.control;
  if (config.find_server(config.control) == nullptr) {
    return flag_error("--control", "\"" + flags.control + "\" is none of the regions");
  }
  if (flags.workers > kWorkersMax)
    return flag_error("--workers", "at most " + std::to_string(kWorkersMax));
  RunConfig& run = config.run;
  run.shards = flags.shards;
  run.leaders = default_leaders(config, run.shards);
  if (flags.block_parameters != 0) run.block_parameters = flags.block_parameters;
  for (auto read : {read_flag("--delay", flags.delay, config.link.delay, parse_duration),
                    read_flag("--rate", flags.rate, config.link.bits_per_second, parse_rate),
                    read_flag("--window", flags.window, run.window_max, parse_duration),
                    read_flag("--ack", flags.ack, run.ack, parse_acknowledgement),
                    read_flag("--codec", flags.codec, run.contribution_codec, parse_codec),
                    read_flag("--codec", flags.codec, run.update_codec, parse_codec),
                    read_flag("--lan-codec", flags.lan_codec, run.lan_codec, parse_codec)}) {
    if (!read) return read.error();
  }
  run.window_min = std::min(run.window_min, run.window_max);
  return config;
}

Result<void> pick_ports(ClusterConfig& config) {
  PortPicker ports;
  for (ServerConfig& server : config.servers) {
    for (HostPort* address : {&server.data, &server.admin}) {
      if (address->port != 0) continue;
      const auto port = ports.pick();
      if (!port) return port.error();
      address->port = *port;
    }
  }
  return {};
}

Result<void> write_cluster(const ClusterConfig& plan, std::uint32_t workers,
                           const std::filesystem::path& directory) {
  ClusterConfig config = plan;
  config.folder = directory;
  const std::string text = write_cluster_config(config);
  // Names and ranges are checked once, by the parser.
  if (auto valid = parse_cluster_config(text, kClusterFileName); !valid) return valid.error();
  std::error_code error;
  for (const char* folder : {"certificates", "data", "log", "run"}) {
    std::filesystem::create_directories(directory / folder, error);
    if (error)
      return Error{Errc::kIo, "making " + (directory / folder).string() + ": " + error.message()};
  }
  if (auto written = write_certificates(config, workers); !written) return written;
  const auto token = make_token();
  if (!token) return token.error();
  if (auto written = net::write_private_file(config.admin_token_file(), *token + "\n"); !written)
    return written;
  return write_public_file(directory / kClusterFileName, text);
}

int run_init(const CommandLine& line, const Console& console) {
  std::error_code error;
  const std::filesystem::path& directory = line.directory;
  for (const char* mine : {"cluster.toml", "certificates"}) {
    if (!std::filesystem::exists(directory / mine, error)) continue;
    return report(console,
                  Failure("GODWIT-E2003", (directory / mine).string() + " is there already",
                          "choose another folder, or remove it: rm -r " + directory.string()));
  }
  auto config = plan_cluster(line.init);
  if (!config) return report(console, config.error());
  if (auto picked = pick_ports(*config); !picked) return report(console, picked.error());
  if (auto written = write_cluster(*config, line.init.workers, directory); !written) {
    return report(console, written.error());
  }
  Table table({{"SERVER"}, {"REGION"}, {"DATA"}, {"ADMIN"}});
  for (const ServerConfig& server : config->servers) {
    table.add({server.name, server.region, to_string(server.data), to_string(server.admin)});
  }
  console.out << table.text();
  const bool here = config->servers.front().data.is_loopback();
  console.error << "wrote " << (directory / kClusterFileName).string() << "; next: "
                << (here ? "godwit up -C " + directory.string()
                         : "copy each machine's files to it, see docker/three_machines.md")
                << "\n";
  return exit_code::kSuccess;
}

}  // namespace godwit::cli
