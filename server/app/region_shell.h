// RegionShell: runs a RegionCore on one strand. It takes what has queued up, lets the core decide on all of
// it, writes the effects as one batch (so that many events share one sync), and only then sends.
// Any thread may post; everything else happens on the strand.
#pragma once

#include <boost/asio/any_io_executor.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/strand.hpp>
#include <deque>
#include <functional>
#include <memory>
#include <mutex>

#include "server/core/region_core.h"

namespace godwit::app {

// Events waiting for the core. Above it the oldest hints are not dropped: producers are held back by their
// own windows (one contribution per region, one push per worker and shard), so this is only a tripwire.
inline constexpr std::size_t kEventsMax = 1U << 16;
// Events decided before one write: bounds how long the first of them waits for the others.
inline constexpr std::size_t kEventsPerWrite = 64;

// Where effects go. Called on the strand.
struct Outlets {
  std::function<void(RegionId, const Message&)> to_region;  // other regions; our own is looped back
  std::function<void(WorkerId, const Message&)> to_worker;
  std::function<void(ControlRequest)> to_control;             // the items of its answer are events
  std::function<void(const Notice&)> notice;
  // A write failed: nothing may be acknowledged any more. The process must stop.
  std::function<void(const Error&)> failed;
};

class RegionShell {
 public:
  using Event = std::function<Effects(RegionCore&, TimePoint now)>;

  // `store` outlives the shell; so does the io_context.
  RegionShell(boost::asio::any_io_executor executor, Store& store, RegionId self, Outlets outlets);
  // The core takes over: its start effects first, then everything that was posted meanwhile.
  void open(std::unique_ptr<RegionCore> core);
  // Any thread. `fresh_store`: the event may read what earlier events wrote, so those are written first.
  void post(Event event, bool fresh_store = false);
  void post_message(RegionId from, Message message);
  void post_message(WorkerId from, Message message);
  // Runs `use` on the strand with the core, null before open(); it must not change it.
  void inspect(std::function<void(const RegionCore*)> use);
  // No event is taken any more.
  void stop();

 private:
  struct Queued {
    Event event;
    bool fresh_store;
  };
  struct Pending {  // decided, not yet performed
    Batch batch;
    std::vector<Send> sends;
    std::vector<ControlRequest> controls;
    std::vector<Notice> notices;
  };
  void schedule();
  void drain();
  void decide(const Queued& queued, Pending& pending);
  bool perform(Pending& pending);
  void set_timer(TimePoint deadline);

  boost::asio::strand<boost::asio::any_io_executor> strand_;
  boost::asio::steady_timer timer_;
  Store& store_;
  RegionId self_;
  Outlets outlets_;
  std::unique_ptr<RegionCore> core_;
  std::optional<TimePoint> timer_at_;
  bool failed_ = false;

  std::mutex mutex_;  // guards the two below
  std::deque<Queued> queue_;
  bool scheduled_ = false;
  bool stopped_ = false;
};

}  // namespace godwit::app
