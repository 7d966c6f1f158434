// History: what one worker process did and was told, as JSON lines, for a checker that believes nobody
// (tests/history; its README lists the events). Every event is with the kernel before the process acts on it, so it
// survives SIGKILL; the last line may be torn then.
//
// The training thread, no lock. Until open() every call does nothing.
#pragma once

#include <fstream>
#include <map>
#include <string>

#include "worker/core/worker_core.h"

namespace godwit::client {

class History {
 public:
  // Appends to `file`, also to the history of an earlier process. Errors: kConfig.
  Result<void> open(const std::string& file);
  bool is_open() const { return file_.is_open(); }

  void start(const std::string& worker_name, const WorkerSettings& settings);
  // Before it is sent. Repeated pushes are recorded again.
  void sent(const Message& message);
  // After `core` has taken it in.
  void received(const Message& message, const WorkerCore& core);
  // `drained`: every push is named, as far as this process has seen.
  void end(bool drained);

 private:
  void answered(const PushReply& reply);
  void pulled(const PullReply& reply, const ShardView& view);
  void seen(const char* event, const EntryHeader& header, Hash hash, bool merged);

  std::ofstream file_;
  std::map<ShardId, Hash> held_;  // the entry that the core had merged last
};

}  // namespace godwit::client
