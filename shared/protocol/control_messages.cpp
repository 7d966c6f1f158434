#include "shared/protocol/control_messages.h"

#include <algorithm>
#include <charconv>

namespace godwit {
namespace {

bool is_key_byte(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
         std::string_view("._-/").find(c) != std::string_view::npos;
}

Result<void> validate_key(const std::string& key, bool is_prefix) {
  if (key.empty() && !is_prefix) return Error{Errc::kInvalid, "control key: empty"};
  if (key.size() > kControlKeyBytesMax) {
    return Error{Errc::kTooLarge, "control key: " + std::to_string(key.size()) + " bytes, limit " +
                                      std::to_string(kControlKeyBytesMax)};
  }
  if (!std::all_of(key.begin(), key.end(), is_key_byte)) {
    return Error{Errc::kInvalid, "control key: only letters, digits and ._-/ are allowed"};
  }
  return {};
}

Result<void> validate_size(std::string_view what, const Bytes& value, std::size_t limit) {
  if (value.size() <= limit) return {};
  return Error{Errc::kTooLarge, std::string(what) + ": " + std::to_string(value.size()) +
                                    " bytes, limit " + std::to_string(limit)};
}

Result<void> validate_duration(std::string_view what, Duration value, Duration limit) {
  if (value >= Duration::zero() && value <= limit) return {};
  return Error{Errc::kInvalid, std::string(what) + ": " + std::to_string(to_seconds(value)) +
                                   " s, allowed 0 to " + std::to_string(to_seconds(limit)) + " s"};
}

}  // namespace

Result<void> validate(const ControlRequest& request) {
  const bool is_prefix = request.kind == ControlKind::kList || request.kind == ControlKind::kWatch;
  if (auto valid = validate_key(request.key, is_prefix); !valid) return valid;
  switch (request.kind) {
    case ControlKind::kGet:
    case ControlKind::kList:
      return {};
    case ControlKind::kCompareAndSwap:
      return validate_size("control value", request.value, kControlValueBytesMax);
    case ControlKind::kLeaseKeepalive:
      if (request.value.empty()) return Error{Errc::kInvalid, "lease holder: empty"};
      if (auto valid = validate_size("lease holder", request.value, kControlHolderBytesMax);
          !valid) {
        return valid;
      }
      return validate_duration("lease ttl", request.ttl, kControlTtlMax);
    case ControlKind::kWatch:
      return validate_duration("watch wait", request.wait, kControlWaitMax);
  }
  return Error{Errc::kInvalid, "control request: unknown kind " +
                                   std::to_string(static_cast<unsigned>(request.kind))};
}

namespace control_keys {

std::string shard_leader(ShardId shard) { return "shard/" + to_string(shard) + "/leader"; }
std::string region_lease(RegionId region) { return "region/" + to_string(region) + "/lease"; }

std::optional<std::uint32_t> parse_id(std::string_view key, std::string_view prefix, std::string_view suffix) {
  if (!key.starts_with(prefix) || !key.ends_with(suffix)) return std::nullopt;
  key.remove_prefix(prefix.size());
  if (key.size() <= suffix.size()) return std::nullopt;
  key.remove_suffix(suffix.size());
  std::uint32_t id = 0;
  const auto [end, error] = std::from_chars(key.data(), key.data() + key.size(), id);
  return error == std::errc() && end == key.data() + key.size() ? std::optional(id) : std::nullopt;
}

}  // namespace control_keys
}  // namespace godwit
