#include "server/app/region_shell.h"

#include <boost/asio/post.hpp>

#include "shared/base/check.h"
#include "shared/net/clock.h"

namespace godwit::app {

RegionShell::RegionShell(boost::asio::any_io_executor executor, Store& store, RegionId self, Outlets outlets)
    : strand_(std::move(executor)), timer_(strand_), store_(store), self_(self), outlets_(std::move(outlets)) {}

void RegionShell::open(std::unique_ptr<RegionCore> core) {
  boost::asio::post(strand_, [this, core = std::move(core)]() mutable {
    core_ = std::move(core);
    {
      std::lock_guard lock(mutex_);
      queue_.push_front({[](RegionCore& c, TimePoint now) { return c.start(now); }, false});
      scheduled_ = true;
    }
    drain();
  });
}

void RegionShell::post(Event event, bool fresh_store) {
  {
    std::lock_guard lock(mutex_);
    if (stopped_) return;
    GODWIT_CHECK(queue_.size() < kEventsMax, "windows bound the events that can wait");
    queue_.push_back({std::move(event), fresh_store});
  }
  schedule();
}

void RegionShell::post_message(RegionId from, Message message) {
  const bool reads = std::holds_alternative<Subscribe>(message);
  post([from, message = std::move(message)](RegionCore& core, TimePoint now) {
    return core.on_message(from, message, now);
  }, reads);
}

void RegionShell::post_message(WorkerId from, Message message) {
  const bool reads = std::holds_alternative<Pull>(message);
  post([from, message = std::move(message)](RegionCore& core, TimePoint now) {
    return core.on_message(from, message, now);
  }, reads);
}

void RegionShell::inspect(std::function<void(const RegionCore*)> use) {
  boost::asio::post(strand_, [this, use = std::move(use)] { use(core_.get()); });
}

void RegionShell::stop() {
  std::lock_guard lock(mutex_);
  stopped_ = true;
  queue_.clear();
}

void RegionShell::schedule() {
  {
    std::lock_guard lock(mutex_);
    if (scheduled_) return;
    scheduled_ = true;
  }
  boost::asio::post(strand_, [this] { drain(); });
}

void RegionShell::drain() {
  Pending pending;
  for (std::size_t decided = 0; decided < kEventsPerWrite; ++decided) {
    Queued next;
    {
      std::lock_guard lock(mutex_);
      if (queue_.empty() || core_ == nullptr || failed_ || stopped_) {
        scheduled_ = false;
        break;
      }
      next = std::move(queue_.front());
      queue_.pop_front();
    }
    if (next.fresh_store && !perform(pending)) return;
    decide(next, pending);
  }
  if (!perform(pending)) return;
  bool more = false;
  {
    std::lock_guard lock(mutex_);
    more = scheduled_;
  }
  if (more) boost::asio::post(strand_, [this] { drain(); });
}

void RegionShell::decide(const Queued& queued, Pending& pending) {
  Effects effects = queued.event(*core_, net::now());
  for (Batch& batch : effects.writes) {
    pending.batch.sync |= batch.sync;
    std::move(batch.writes.begin(), batch.writes.end(), std::back_inserter(pending.batch.writes));
  }
  for (Send& send : effects.sends) {
    if (std::holds_alternative<RegionId>(send.to) && std::get<RegionId>(send.to) == self_) {
      // Its writes precede ours in the same batch, so the order of effects holds.
      std::lock_guard lock(mutex_);
      queue_.push_back({[self = self_, message = std::move(send.message)](RegionCore& core, TimePoint now) {
                          return core.on_message(self, message, now);
                        }, false});
    } else {
      pending.sends.push_back(std::move(send));
    }
  }
  std::move(effects.controls.begin(), effects.controls.end(), std::back_inserter(pending.controls));
  std::move(effects.notices.begin(), effects.notices.end(), std::back_inserter(pending.notices));
  if (effects.deadline) set_timer(*effects.deadline);
}

bool RegionShell::perform(Pending& pending) {
  if (!pending.batch.empty()) {
    if (Result<void> written = store_.write(pending.batch); !written) {
      failed_ = true;
      outlets_.failed(written.error());
      return false;
    }
  }
  for (const Send& send : pending.sends) {
    if (const auto* region = std::get_if<RegionId>(&send.to)) {
      outlets_.to_region(*region, send.message);
    } else {
      outlets_.to_worker(std::get<WorkerId>(send.to), send.message);
    }
  }
  for (ControlRequest& request : pending.controls) outlets_.to_control(std::move(request));
  for (const Notice& notice : pending.notices) outlets_.notice(notice);
  pending = {};
  return true;
}

void RegionShell::set_timer(TimePoint deadline) {
  if (timer_at_ && *timer_at_ <= deadline) return;
  timer_at_ = deadline;
  timer_.expires_at(net::to_steady(deadline));
  timer_.async_wait([this](const boost::system::error_code& error) {
    if (error) return;  // moved to an earlier time
    timer_at_.reset();
    post([](RegionCore& core, TimePoint now) { return core.on_tick(now); });
  });
}

}  // namespace godwit::app
