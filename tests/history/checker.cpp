#include "tests/history/checker.h"

#include <algorithm>

#include "tests/history/process_trace.h"
#include "tests/history/shard_log.h"

namespace godwit::history {
namespace {

class Judge {
 public:
  explicit Judge(const Recording& recording) : recording_(recording) {}

  Report run() {
    collect();
    for (auto& [shard, log] : logs_) log.close(report_.violations);
    check_restarts();
    take_other_answers();
    for (const auto& [shard, log] : logs_) check_named(shard, log);
    for (const ProcessTrace& process : traces_) {
      for (const auto& [shard, trace] : process.shards) {
        for (const auto& [sequence, made] : trace.pushes) check_push(process, made);
      }
    }
    count();
    return std::move(report_);
  }

 private:
  void report(const char* rule, const Place& place, const std::string& what) {
    report_.violations.push_back({rule, place, what});
  }

  void collect() {
    for (const Process& process : recording_.processes()) {
      for (const Recorded& recorded : process.events) {
        const auto* seen = std::get_if<Seen>(&recorded.event);
        if (seen != nullptr) logs_[seen->entry.shard].add(seen->entry, process.at(recorded), report_.violations);
      }
      traces_.push_back(trace(process, report_.violations));
    }
    for (ProcessTrace& process : traces_) workers_[process.process->start.worker].push_back(&process);
  }

  // Each process of a worker has a higher number than the one before, and all train one model.
  void check_restarts() {
    for (const auto& [worker, processes] : workers_) {
      for (std::size_t i = 0; i < processes.size(); ++i) {
        const Process& process = *processes[i]->process;
        if (i > 0 && process.start.incarnation <= processes[i - 1]->process->start.incarnation) {
          report("incarnation_not_higher", process.place,
                 process.start.name + " started again as " + std::to_string(process.start.incarnation));
        }
        if (process.start.manifest != traces_.front().process->start.manifest) {
          report("another_model", process.place, process.start.name + " trains " + process.start.manifest);
        }
      }
    }
  }

  ProcessTrace* find(const Identity& worker, Number incarnation) {
    const auto found = workers_.find(worker);
    if (found == workers_.end()) return nullptr;
    for (ProcessTrace* process : found->second) {
      if (process->process->start.incarnation == incarnation) return process;
    }
    return nullptr;
  }

  static MadePush* find(ProcessTrace& process, ShardNumber shard, Number sequence) {
    auto& pushes = process.shards[shard].pushes;
    const auto found = pushes.find(sequence);
    return found == pushes.end() ? nullptr : &found->second;
  }

  // An acknowledgement binds also when only the next process of the worker heard it.
  void take_other_answers() {
    for (const ProcessTrace& heard : traces_) {
      for (const auto& [answer, place] : heard.other_answers) {
        ProcessTrace* const process = find(heard.process->start.worker, answer.incarnation);
        MadePush* const made = process == nullptr ? nullptr : find(*process, answer.shard, answer.sequence);
        if (process != nullptr && made == nullptr) {
          report("answer_without_push", place,
                 "push " + std::to_string(answer.sequence) + " of an earlier process is answered and was never made");
        } else if (made != nullptr && !answer.refused) {
          made->acknowledged = true;
        }
      }
    }
  }

  // Nobody's push is named who did not make it; of whoever recorded nothing, nothing is known.
  void check_named(ShardNumber shard, const ShardLog& log) {
    for (const auto& [hash, known] : log.entries()) {
      for (const NamedPush& named : known.entry.pushes) {
        ProcessTrace* const process = find(named.push.worker, named.push.incarnation);
        if (process == nullptr || find(*process, shard, named.push.sequence) != nullptr) continue;
        report("named_without_push", known.place,
               to_string(named.push) + " is named in version " + std::to_string(known.entry.version) +
                   " and was never made");
      }
    }
  }

  void check_push(const ProcessTrace& process, const MadePush& made) {
    const ShardLog& log = logs_[made.push.shard];
    const Start& start = process.process->start;
    const PushName name{start.worker, start.incarnation, made.push.sequence};
    const std::string what = to_string(name) + " on shard " + std::to_string(made.push.shard);
    const auto naming = log.namings().find(name);
    if (naming != log.namings().end()) {
      const Number version = naming->second.known->entry.version;
      if (made.refused) report("refused_but_named", made.place, what + ": in version " + std::to_string(version));
      if (log.holds(made.push.base, made.base) && version <= made.push.base) {
        report("named_below_its_base", made.place,
               what + ": made on version " + std::to_string(made.push.base) + ", named in " + std::to_string(version));
      }
    } else if (made.acknowledged && made.told_version == 0) {
      if (must_be_named(process, made, log)) report("acknowledged_push_lost", made.place, what);
      else ++report_.pushes_open;
    }
  }

  // A region hands on what its workers pushed in the order of rounds, so a later push is evidence for an earlier one.
  bool must_be_named(const ProcessTrace& process, const MadePush& made, const ShardLog& log) const {
    Number from = made.push.base + 1;  // where it may be named
    for (const auto* known : log.truncated()) from = std::min(from, known->entry.version);
    if (std::any_of(log.gaps().begin(), log.gaps().end(), [from](const auto& gap) { return gap.last >= from; })) {
      return false;
    }
    if (saw_the_end(process, made.push.shard)) return true;
    bool later = false;
    for (const ProcessTrace* other : workers_.at(process.process->start.worker)) {
      const auto shard = other->shards.find(made.push.shard);
      if ((later || other == &process) && shard != other->shards.end()) {
        for (const auto& [sequence, push] : shard->second.pushes) {
          const bool after = later ? push.push.round > made.push.round : sequence > made.push.sequence;
          const Start& start = other->process->start;
          if (after && log.namings().contains({start.worker, start.incarnation, sequence})) return true;
        }
      }
      later = later || other == &process;
    }
    return false;
  }

  // It ended with all of its pushes named, and what it held is part of the final log.
  bool saw_the_end(const ProcessTrace& process, ShardNumber shard) const {
    const auto trace = process.shards.find(shard);
    const auto log = logs_.find(shard);
    return process.drained && trace != process.shards.end() && log != logs_.end() &&
           log->second.holds(trace->second.version, trace->second.hash);
  }

  bool closed() const {
    return !workers_.empty() && std::all_of(workers_.begin(), workers_.end(), [this](const auto& worker) {
      const ProcessTrace& last = *worker.second.back();
      return last.drained && std::all_of(last.shards.begin(), last.shards.end(), [&](const auto& shard) {
               return saw_the_end(last, shard.first);
             });
    });
  }

  void count() {
    report_.workers = workers_.size();
    report_.processes = traces_.size();
    report_.events = recording_.events();
    report_.torn_lines = recording_.torn_lines();
    report_.closed = closed();
    for (const ProcessTrace& process : traces_) {
      for (const auto& [number, shard] : process.shards) {
        for (const auto& [sequence, made] : shard.pushes) {
          ++report_.pushes_made;
          if (made.acknowledged) ++report_.pushes_acknowledged;
          if (made.refused) ++report_.pushes_refused;
        }
      }
    }
    for (const auto& [shard, log] : logs_) {
      if (log.entries().empty()) continue;
      ++report_.shards;
      report_.versions += log.final_log().size();
      report_.truncated += log.truncated().size();
      for (const ShardLog::Gap& gap : log.gaps()) report_.unseen += gap.last - gap.first + 1;
      for (const auto& [push, naming] : log.namings()) {
        ++(naming.verdict == "applied"   ? report_.named_applied
           : naming.verdict == "refused" ? report_.named_refused
                                         : report_.named_discarded);
      }
    }
  }

  const Recording& recording_;
  Report report_;
  std::map<ShardNumber, ShardLog> logs_;
  std::vector<ProcessTrace> traces_;
  std::map<Identity, std::vector<ProcessTrace*>> workers_;  // processes in the order in which they started
};

}  // namespace

Report check(const Recording& recording) { return Judge(recording).run(); }

}  // namespace godwit::history
