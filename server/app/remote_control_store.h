// RemoteControlStore: the control store of another server, asked over the link to its region. A request that
// cannot be sent, or whose link breaks, is answered kUnavailable: it may have happened all the same.
// Any thread.
#pragma once

#include <functional>
#include <map>
#include <mutex>

#include "server/control/control_store.h"
#include "shared/wire/control_wire.h"

namespace godwit::app {

class RemoteControlStore final : public ControlStore {
 public:
  // False: the link is down.
  using Sender = std::function<bool(const wire::ControlCall&)>;
  explicit RemoteControlStore(Sender sender) : sender_(std::move(sender)) {}

  void request(ControlRequest request, Callback done) override;
  void on_answer(wire::ControlAnswer answer);
  void on_disconnected();

 private:
  Sender sender_;
  std::mutex mutex_;  // guards the two below; never held while a callback runs
  std::uint64_t next_id_ = 1;
  std::map<std::uint64_t, Callback> waiting_;
};

}  // namespace godwit::app
