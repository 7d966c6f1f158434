// ShardLog: the log of one shard, as all observers together saw it. Entries form branches; the final one ends in the
// highest version of the highest epoch, whatever else was seen was truncated by a new leader.
//
// Where nobody saw the version that an entry follows, the log has a gap. Below it the final branch is a guess, unless
// the epoch is the same: a leader never truncates its own entries. Such pieces are told apart by their number.
#pragma once

#include <map>

#include "tests/history/recording.h"

namespace godwit::history {

class ShardLog {
 public:
  struct Known {
    Entry entry;
    Place place;  // where it was seen first
  };
  struct Naming {
    const Known* known = nullptr;
    std::string verdict;
    std::size_t piece = 0;
  };
  struct Gap {
    Number first = 0, last = 0;  // versions that nobody saw
  };

  // Two observers must mean the same by a hash, and an epoch has one entry for a version.
  void add(const Entry& entry, const Place& place, Violations& violations);
  // After the last add(): follows the final branch down. Versions are dense, epochs never decrease, nothing is
  // named twice.
  void close(Violations& violations);

  const std::map<Identity, Known>& entries() const { return entries_; }
  const std::map<Number, const Known*>& final_log() const { return final_; }
  const std::map<PushName, Naming>& namings() const { return namings_; }  // of the final log
  const std::vector<Gap>& gaps() const { return gaps_; }                  // newest first
  const std::vector<const Known*>& truncated() const { return truncated_; }
  // Is it part of the final log? Version 0 is.
  bool holds(Number version, const Identity& hash) const;

 private:
  void check_links(Violations& violations) const;
  const Known* below(const Known& known) const;
  void follow(const Known* tip);
  void name_pushes(const Known& known, std::size_t piece);
  void check_twice(Violations& violations) const;
  bool in_gap(Number version) const;

  std::map<Identity, Known> entries_;
  std::map<std::pair<Number, Number>, const Known*> places_;  // by epoch, then version
  std::map<Number, const Known*> final_;
  std::map<PushName, Naming> namings_;
  std::vector<std::pair<PushName, const Known*>> twice_;
  std::vector<Gap> gaps_;
  std::vector<const Known*> truncated_;
};

std::string to_string(const PushName& push);

}  // namespace godwit::history
