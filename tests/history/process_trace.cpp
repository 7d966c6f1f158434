#include "tests/history/process_trace.h"

namespace godwit::history {
namespace {

std::string on_shard(ShardNumber shard) { return " on shard " + std::to_string(shard); }

class Tracer {
 public:
  Tracer(const Process& process, Violations& violations) : process_(process), violations_(violations) {
    trace_.process = &process;
  }

  ProcessTrace run() {
    for (const Recorded& recorded : process_.events) {
      place_ = process_.at(recorded);
      std::visit([this](const auto& event) { on(event); }, recorded.event);
    }
    return std::move(trace_);
  }

 private:
  void report(const char* rule, const std::string& what) { violations_.push_back({rule, place_, what}); }

  void on(const Start&) {}  // begins a process, is never inside
  void on(const End& end) { trace_.drained = end.drained; }

  void on(const Push& push) {
    ShardTrace& shard = trace_.shards[push.shard];
    const std::string what = "push " + std::to_string(push.sequence) + on_shard(push.shard);
    const Number last = shard.pushes.empty() ? 0 : shard.pushes.rbegin()->first;
    if (push.sequence == last && last != 0 && !shard.pushes[last].refused) {
      if (push != shard.pushes[last].push) report("push_changed", what + " is repeated with another content");
      return;
    }
    const bool anew = push.sequence == last && last != 0;  // under the number that was refused
    if (!anew && push.sequence != last + 1) {
      report("sequence_gap", what + " follows push " + std::to_string(last));
    } else if (!anew && last != 0 && !shard.pushes[last].known_named) {
      report("push_too_early", what + ": the one before is not named yet");
    }
    if (push.base != shard.version) {
      report("base_not_held", what + " is based on version " + std::to_string(push.base) + ", version " +
                                  std::to_string(shard.version) + " was held");
    }
    shard.pushes[push.sequence] = {push, place_, shard.hash};
  }

  void on(const Answer& answer) {
    if (answer.incarnation != process_.start.incarnation) {
      trace_.other_answers.emplace_back(answer, place_);
      return;
    }
    const std::string what = "push " + std::to_string(answer.sequence) + on_shard(answer.shard);
    MadePush* const made = find(answer.shard, answer.sequence);
    if (made == nullptr) return report("answer_without_push", what + " is answered and was never made");
    if (answer.refused && made->acknowledged) report("refused_after_acknowledged", what);
    if (!answer.refused && made->refused) report("acknowledged_after_refused", what);
    (answer.refused ? made->refused : made->acknowledged) = true;
  }

  void on(const Seen& seen) {
    if (!seen.merged) return;
    const Entry& entry = seen.entry;
    ShardTrace& shard = trace_.shards[entry.shard];
    const std::string what = "version " + std::to_string(entry.version) + " of epoch " + std::to_string(entry.epoch) +
                             on_shard(entry.shard) + " after version " + std::to_string(shard.version) + " of epoch " +
                             std::to_string(shard.epoch);
    if (entry.epoch < shard.epoch || (entry.epoch == shard.epoch && entry.version < shard.version)) {
      report("read_went_back", what);
    } else if (!seen.snapshot && (entry.version != shard.version + 1 || entry.previous != shard.hash)) {
      report("read_does_not_follow", what);
    }
    shard.version = entry.version;
    shard.epoch = entry.epoch;
    shard.hash = entry.hash;
    for (const NamedPush& named : entry.pushes) {
      if (named.push.worker != process_.start.worker || named.push.incarnation != process_.start.incarnation) continue;
      if (MadePush* const made = find(entry.shard, named.push.sequence)) made->known_named = true;
    }
  }

  void on(const Told& told) {
    MadePush* const made =
        told.incarnation == process_.start.incarnation ? find(told.shard, told.sequence) : nullptr;
    if (made == nullptr) {
      return report("named_without_push", "push " + std::to_string(told.sequence) + on_shard(told.shard) +
                                              " is said to be named and was never made");
    }
    made->known_named = true;
    made->told_version = told.version;
  }

  MadePush* find(ShardNumber shard, Number sequence) {
    auto& pushes = trace_.shards[shard].pushes;
    const auto found = pushes.find(sequence);
    return found == pushes.end() ? nullptr : &found->second;
  }

  const Process& process_;
  Violations& violations_;
  ProcessTrace trace_;
  Place place_;
};

}  // namespace

ProcessTrace trace(const Process& process, Violations& violations) { return Tracer(process, violations).run(); }

}  // namespace godwit::history
