// ControlStore: where the cluster agrees on who leads, who is in sync, which mode runs. Embedded in
// one server (embedded_control_store.h), or reached over the network; what may be asked is in
// shared/protocol/control_messages.h.
#pragma once

#include <functional>

#include "shared/protocol/control_messages.h"

namespace godwit {

class ControlStore {
 public:
  using Callback = std::function<void(ControlReply)>;
  virtual ~ControlStore() = default;

  // Calls `done` exactly once: before request() returns, or later on another thread, never with a
  // lock held. A successful change is durable by then. After kTimedOut or kUnavailable a change may
  // have happened or may yet happen: read the key before trying again.
  virtual void request(ControlRequest request, Callback done) = 0;
};

}  // namespace godwit
