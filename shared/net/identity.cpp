#include "shared/net/identity.h"

#include <algorithm>
#include <array>
#include <optional>

namespace godwit::net {
namespace {

constexpr std::string_view kScheme = "godwit://";
constexpr std::array kRoles{Role::kServer, Role::kWorker, Role::kOperator};

bool valid_character(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '.' ||
         c == '_' || c == '-';
}

std::optional<Role> parse_role(std::string_view text) {
  const auto* role = std::find_if(kRoles.begin(), kRoles.end(),
                                  [text](Role candidate) { return name(candidate) == text; });
  if (role == kRoles.end()) return std::nullopt;
  return *role;
}

Error refused(std::string_view uri, std::string_view why) {
  // Certificates come from outside: show what is printable, and not too much of it.
  std::string shown(uri.substr(0, 128));
  std::replace_if(
      shown.begin(), shown.end(), [](char c) { return c < ' ' || c > '~'; }, '?');
  return Error{Errc::kInvalid, "identity \"" + shown + "\": " + std::string(why) +
                                   "; wanted godwit://<cluster>/<region>/<role>/<name>"};
}

}  // namespace

std::string_view name(Role role) {
  switch (role) {
    case Role::kServer:
      return "server";
    case Role::kWorker:
      return "worker";
    case Role::kOperator:
      return "operator";
  }
  return "unknown";
}

bool valid_identity_part(std::string_view part) {
  return !part.empty() && part.size() <= kMaxIdentityPart &&
         std::all_of(part.begin(), part.end(), valid_character);
}

std::string format_identity(const Identity& identity) {
  GODWIT_REQUIRE(valid_identity_part(identity.cluster), "cluster: 1-64 of [A-Za-z0-9._-]");
  GODWIT_REQUIRE(valid_identity_part(identity.region), "region: 1-64 of [A-Za-z0-9._-]");
  GODWIT_REQUIRE(valid_identity_part(identity.name), "name: 1-64 of [A-Za-z0-9._-]");
  std::string uri(kScheme);
  uri.append(identity.cluster).append("/").append(identity.region).append("/");
  uri.append(name(identity.role)).append("/").append(identity.name);
  return uri;
}

Result<Identity> parse_identity(std::string_view uri) {
  if (!uri.starts_with(kScheme)) return refused(uri, "does not start with godwit://");
  std::array<std::string_view, 4> parts;
  std::string_view rest = uri.substr(kScheme.size());
  for (std::size_t i = 0; i < parts.size(); ++i) {
    const std::size_t slash = rest.find('/');
    const bool last = i + 1 == parts.size();
    if (last != (slash == std::string_view::npos)) return refused(uri, "not exactly four parts");
    parts[i] = rest.substr(0, slash);
    rest = last ? std::string_view() : rest.substr(slash + 1);
    if (!valid_identity_part(parts[i])) {
      return refused(uri, "part " + std::to_string(i + 1) + " is not 1-64 of [A-Za-z0-9._-]");
    }
  }
  const std::optional<Role> role = parse_role(parts[2]);
  if (!role) return refused(uri, "the role is not server, worker or operator");
  return Identity{std::string(parts[0]), std::string(parts[1]), *role, std::string(parts[3])};
}

Result<void> check_peer(const Identity& peer, const ExpectedPeer& expected) {
  if (peer.cluster == expected.cluster && peer.role == expected.role &&
      (expected.region.empty() || peer.region == expected.region)) {
    return {};
  }
  std::string wanted = "a " + std::string(name(expected.role));
  wanted += " of cluster " + expected.cluster;
  if (!expected.region.empty()) wanted += ", region " + expected.region;
  return Error{Errc::kForbidden, "the peer is " + format_identity(peer) + ", wanted " + wanted +
                                     "; check the address in cluster.toml"};
}

}  // namespace godwit::net
