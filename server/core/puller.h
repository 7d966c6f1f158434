// Puller: serves workers from the local replica: the entries after what they hold, byte for byte those in the
// log, or a snapshot when that is fewer bytes or their version is not on this log. A pull may wait.
#pragma once

#include <map>

#include "server/core/effects.h"
#include "server/core/entry_log.h"
#include "server/core/settings.h"
#include "server/core/shard_state.h"

namespace godwit {

class Puller {
 public:
  Puller(const RunSettings& settings, const ShardState& state, const EntryLog& log, const StoreReader& store)
      : settings_(settings), state_(state), log_(log), store_(store) {}

  // A worker has at most one pull per shard; a new one replaces it.
  void on_pull(WorkerId worker, const Pull& pull, TimePoint now, Effects& effects);
  // The worker pushed while its pull waits: a snapshot in answer must say whether it holds that push.
  void on_push(WorkerId worker, const PushId& id);
  void on_leave(WorkerId worker) { waiting_.erase(worker); }
  // Answers whoever can be answered. Call when the version moved, and at deadlines.
  void advance(TimePoint now, Effects& effects);

 private:
  struct Waiting {
    Pull pull;
    TimePoint deadline;
  };
  // nullopt: nothing new yet.
  std::optional<PullReply> answer(const Pull& pull) const;
  PullReply snapshot(const Pull& pull) const;

  const RunSettings& settings_;
  const ShardState& state_;
  const EntryLog& log_;
  const StoreReader& store_;
  std::map<WorkerId, Waiting> waiting_;
};

}  // namespace godwit
