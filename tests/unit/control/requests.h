// Requests in words, for tests.
#pragma once

#include <string_view>

#include "shared/protocol/control_messages.h"

namespace godwit::requests {

inline ControlRequest get(std::string_view key) {
  ControlRequest request;
  request.kind = ControlKind::kGet;
  request.key = key;
  return request;
}

inline ControlRequest swap(std::string_view key, std::uint64_t expected, std::string_view value) {
  ControlRequest request;
  request.kind = ControlKind::kCompareAndSwap;
  request.key = key;
  request.expected_revision = Revision(expected);
  request.value = copy(view(value));
  return request;
}

inline ControlRequest list(std::string_view prefix, std::uint64_t since = 0) {
  ControlRequest request;
  request.kind = ControlKind::kList;
  request.key = prefix;
  request.since_revision = Revision(since);
  return request;
}

inline ControlRequest watch(std::string_view prefix, std::uint64_t since, Duration wait) {
  ControlRequest request = list(prefix, since);
  request.kind = ControlKind::kWatch;
  request.wait = wait;
  return request;
}

inline ControlRequest keep(std::string_view key, std::string_view holder, Duration ttl) {
  ControlRequest request;
  request.kind = ControlKind::kLeaseKeepalive;
  request.key = key;
  request.value = copy(view(holder));
  request.ttl = ttl;
  return request;
}

// "conflict a=1@3 b=2@4 | 4": error, items, revision; "+" for more.
inline std::string describe(const ControlReply& reply) {
  std::string out = reply.error ? std::string(name(reply.error->code)) + " " : "";
  for (const ControlItem& item : reply.items) {
    out += item.key + "=" + std::string(text(item.value)) + "@" + to_string(item.revision) + " ";
  }
  return out + "| " + to_string(reply.revision) + (reply.more ? "+" : "");
}

}  // namespace godwit::requests
