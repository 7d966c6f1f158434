#include "shared/net/cluster_config.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <cstring>

#include "shared/base/check.h"
#include "shared/net/units.h"

namespace godwit {
namespace {

constexpr std::array kAcknowledgementNames = {"memory", "region", "committed", "replicated"};

}  // namespace

bool HostPort::is_loopback() const {
  return host == "localhost" || host == "::1" || host.starts_with("127.");
}

std::string to_string(const HostPort& address) {
  const bool bracketed = address.host.find(':') != std::string::npos;
  return (bracketed ? "[" + address.host + "]" : address.host) + ":" + std::to_string(address.port);
}

Result<HostPort> parse_host_port(std::string_view text) {
  const auto wrong = [text](std::string_view what) {
    return Error{Errc::kConfig,
                 '"' + std::string(text) + "\": " + std::string(what) +
                     "; an address is \"host:port\", as in \"127.0.0.1:7700\" or \"[::1]:7700\""};
  };
  const std::size_t colon = text.rfind(':');
  if (colon == std::string_view::npos) return wrong("no port");
  std::string_view host = text.substr(0, colon);
  const std::string_view port = text.substr(colon + 1);
  if (host.starts_with('[') && host.ends_with(']')) {
    host = host.substr(1, host.size() - 2);
  } else if (host.find(':') != std::string_view::npos) {
    return wrong("an IPv6 address stands in brackets");
  }
  if (host.empty()) return wrong("no host (all addresses of a machine: \"0.0.0.0\")");
  const auto no_part = [](char c) { return c <= ' ' || c > '~' || std::strchr("/\\@\"'[]?", c); };
  if (std::ranges::any_of(host, no_part)) return wrong("not a host");
  HostPort address{std::string(host), 0};
  const auto [end, error] = std::from_chars(port.data(), port.data() + port.size(), address.port);
  if (error != std::errc() || end != port.data() + port.size() || address.port == 0) {
    return wrong("the port is a number from 1 to 65535");
  }
  return address;
}

std::string_view name(Acknowledgement ack) {
  return kAcknowledgementNames[static_cast<std::size_t>(ack)];
}

Result<Acknowledgement> parse_acknowledgement(std::string_view text) {
  const auto* const found = std::ranges::find(kAcknowledgementNames, text);
  if (found != kAcknowledgementNames.end()) {
    return static_cast<Acknowledgement>(found - kAcknowledgementNames.begin());
  }
  return Error{Errc::kConfig,
               '"' + std::string(text) +
                   "\" is no acknowledgement: it is memory, region, committed or replicated"};
}

const ServerConfig* ClusterConfig::find_server(std::string_view server) const {
  const auto found = std::ranges::find(servers, server, &ServerConfig::name);
  return found == servers.end() ? nullptr : &*found;
}

std::string ClusterConfig::server_names() const {
  std::string names;
  for (const ServerConfig& server : servers) names += (names.empty() ? "" : ", ") + server.name;
  return names;
}

const ServerConfig* ClusterConfig::find_region(std::string_view region) const {
  const auto found = std::ranges::find(servers, region, &ServerConfig::region);
  return found == servers.end() ? nullptr : &*found;
}

const ServerConfig& ClusterConfig::control_server() const {
  const ServerConfig* const server = find_server(control);
  GODWIT_CHECK(server != nullptr, "a parsed configuration names its control server");
  return *server;
}

const ServerConfig& ClusterConfig::server_of(RegionId region) const {
  const auto found = std::ranges::find(servers, region, &ServerConfig::region_id);
  GODWIT_REQUIRE(found != servers.end(), "the region is one of this cluster");
  return *found;
}

std::filesystem::path ClusterConfig::certificate_file(std::string_view holder) const {
  return folder / "certificates" / (std::string(holder) + ".crt");
}
std::filesystem::path ClusterConfig::key_file(std::string_view holder) const {
  return folder / "certificates" / (std::string(holder) + ".key");
}
std::filesystem::path ClusterConfig::authority_file() const {
  return folder / "certificates" / "ca.crt";
}
std::filesystem::path ClusterConfig::data_directory(std::string_view server) const {
  return folder / "data" / server;
}
std::filesystem::path ClusterConfig::log_file(std::string_view server) const {
  return folder / "log" / (std::string(server) + ".log");
}
std::filesystem::path ClusterConfig::pid_file(std::string_view server) const {
  return folder / "run" / (std::string(server) + ".pid");
}
std::filesystem::path ClusterConfig::admin_token_file() const { return folder / "admin.token"; }

std::string worker_certificate(std::string_view region, std::string_view worker) {
  return std::string(region) + "." + std::string(worker);
}

std::vector<RegionId> default_leaders(const ClusterConfig& config, std::uint32_t shards) {
  const std::uint32_t first = config.control_server().region_id.value() + 1;
  const auto regions = static_cast<std::uint32_t>(config.regions.size());
  std::vector<RegionId> leaders;
  for (std::uint32_t shard = 0; shard < shards; ++shard)
    leaders.emplace_back((first + shard) % regions);
  return leaders;
}

}  // namespace godwit
