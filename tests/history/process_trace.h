// ProcessTrace: what one process did, shard by shard, and which rules it or what it was told broke.
#pragma once

#include <map>

#include "tests/history/recording.h"

namespace godwit::history {

struct MadePush {
  Push push;
  Place place;
  Identity base;  // the entry that the process held
  bool acknowledged = false;
  bool refused = false;  // and not made anew under the same number
  bool known_named = false;
  Number told_version = 0;  // where it was named, if nobody needs to have seen that version
};

struct ShardTrace {
  std::map<Number, MadePush> pushes;  // by sequence
  Number version = 0, epoch = 0;      // held
  Identity hash = kNoEntry;
};

struct ProcessTrace {
  const Process* process = nullptr;
  std::map<ShardNumber, ShardTrace> shards;
  std::vector<std::pair<Answer, Place>> other_answers;  // to pushes of another process of this worker
  bool drained = false;
};

// Sequences are dense from 1 and wait for the naming of the one before, a repeated push is the same one, its base is
// what was held, answers do not contradict each other, reads go forward.
ProcessTrace trace(const Process& process, Violations& violations);

}  // namespace godwit::history
