// Who a peer is: the one URI name of its certificate, godwit://<cluster>/<region>/<role>/<name>.
// A value; pure.
#pragma once

#include <string>
#include <string_view>

#include "shared/base/result.h"

namespace godwit::net {

enum class Role { kServer, kWorker, kOperator };

std::string_view name(Role role);

struct Identity {
  std::string cluster;
  std::string region;
  Role role = Role::kServer;
  std::string name;

  bool operator==(const Identity&) const = default;
};

// Longest cluster, region or name, in characters; a longer one is refused.
inline constexpr std::size_t kMaxIdentityPart = 64;

// A part is 1 to kMaxIdentityPart characters of [A-Za-z0-9._-].
bool valid_identity_part(std::string_view part);

// REQUIRES: valid parts.
std::string format_identity(const Identity& identity);

// Strict: format_identity(*parse_identity(uri)) == uri. kInvalid names the part that is wrong.
Result<Identity> parse_identity(std::string_view uri);

// What a dialer demands of the server that it reaches.
struct ExpectedPeer {
  std::string cluster;
  std::string region;  // empty: any
  Role role = Role::kServer;
};

// kForbidden, with both identities in the text, when `peer` is somebody else.
Result<void> check_peer(const Identity& peer, const ExpectedPeer& expected);

}  // namespace godwit::net
