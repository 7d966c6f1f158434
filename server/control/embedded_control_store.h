// EmbeddedControlStore: the ControlStore of the server that the cluster names as control host; a
// single point, documented as such. ControlState decides, a Store makes durable, waiting watches
// are parked here.
//
// Safe from several threads. A changing request blocks its caller for one synced write. After a
// failed write every request gets that error: what was decided is no longer known, only a restart
// finds out.
#pragma once

#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <utility>
#include <vector>

#include "server/control/control_state.h"
#include "server/control/control_store.h"

namespace godwit {

inline constexpr std::size_t kControlWatchesMax = 1024;  // waiting; more are answered kOverloaded

class EmbeddedControlStore final : public ControlStore {
 public:
  using Clock = std::function<TimePoint()>;

  // `store` outlives the result. Errors: those of ControlState::load.
  static Result<std::unique_ptr<EmbeddedControlStore>> open(Store& store, Clock clock);
  ~EmbeddedControlStore() override { stop(); }
  EmbeddedControlStore(const EmbeddedControlStore&) = delete;
  EmbeddedControlStore& operator=(const EmbeddedControlStore&) = delete;

  void request(ControlRequest request, Callback done) override;

  // The same, answered at once: a watch does not wait.
  ControlReply ask(const ControlRequest& request);

  // Lets leases run out and watches time out. Call it every 100 ms or so: what is late here is a
  // hint late.
  void tick();

  // Answers waiting watches and all later requests with kClosed.
  void stop();

 private:
  struct Watch {
    ControlRequest request;
    TimePoint deadline;
    Callback done;
  };
  // Callbacks to run once the lock is released.
  using Answers = std::vector<std::pair<Callback, ControlReply>>;

  EmbeddedControlStore(Store& store, Clock clock, ControlState state)
      : store_(store), clock_(std::move(clock)), state_(std::move(state)) {}

  // These REQUIRE mutex_; run() REQUIRES that it is free.
  ControlReply decide(const ControlRequest& request, TimePoint now);
  void make_durable(const Batch& batch);
  void collect_answers(TimePoint now, Answers& answers);
  static void run(Answers& answers);

  Store& store_;
  const Clock clock_;
  std::mutex mutex_;
  ControlState state_;
  std::vector<Watch> watches_;
  std::optional<Error> failure_;
};

}  // namespace godwit
