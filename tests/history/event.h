// Event: one line of a worker's history, as the README lists them.
#pragma once

#include <compare>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

namespace godwit::history {

using Number = std::uint64_t;
using Identity = std::string;  // a 64-bit hash as decimal digits; only ever compared
using ShardNumber = Number;

inline const Identity kNoEntry = "0";  // what version 1 follows

// A push of any worker on some shard.
struct PushName {
  Identity worker;
  Number incarnation = 0, sequence = 0;
  auto operator<=>(const PushName&) const = default;
};
struct NamedPush {
  PushName push;
  std::string verdict;  // applied, refused or discarded
  bool operator==(const NamedPush&) const = default;
};

// ---- what a process did
struct Start {
  std::string name;  // region/worker
  Identity worker;
  Number incarnation = 0;
  Identity manifest;
};
struct Push {
  ShardNumber shard = 0;
  Number sequence = 0;
  std::string kind;
  Number base = 0, round = 0, steps = 0, tokens = 0;
  double weight = 0;
  bool operator==(const Push&) const = default;
};
struct End {
  bool drained = false;  // it saw all of its pushes named
};

// ---- what it was told
struct Answer {
  bool refused = false;  // else acknowledged
  ShardNumber shard = 0;
  Number incarnation = 0, sequence = 0;
};
struct Entry {
  ShardNumber shard = 0;
  Number version = 0, epoch = 0;
  std::string kind;
  Identity hash, previous;
  std::vector<NamedPush> pushes;
  bool operator==(const Entry&) const = default;
};
struct Seen {
  Entry entry;
  bool snapshot = false;  // a whole state came with it, it need not follow what was held
  bool merged = false;    // what the process holds from now on
};
struct Told {  // where one of its pushes was named, in a version that it did not see
  ShardNumber shard = 0;
  Number incarnation = 0, sequence = 0, version = 0;
  std::string verdict;
};

using Event = std::variant<Start, Push, End, Answer, Seen, Told>;

// nullopt: not an event. Members that are not known are skipped.
std::optional<Event> parse_event(std::string_view line);

}  // namespace godwit::history
