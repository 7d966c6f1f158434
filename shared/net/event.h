// Event, sleep: how coroutines here wait. Every wait ends by what it waits for, by a deadline
// (kTimedOut), or by its TaskGroup stopping (kClosed). One strand.
#pragma once

#include <boost/asio/any_io_executor.hpp>
#include <boost/asio/awaitable.hpp>
#include <boost/asio/steady_timer.hpp>
#include <list>

#include "shared/base/result.h"
#include "shared/net/clock.h"

namespace godwit::net {

namespace asio = boost::asio;

// An event without memory: notify() wakes who waits now. So test the condition, then wait, in a
// loop. Waiters and notify() run on the executor given here.
class Event {
 public:
  explicit Event(asio::any_io_executor executor) : executor_(std::move(executor)) {}
  Event(const Event&) = delete;
  Event& operator=(const Event&) = delete;

  void notify();
  asio::awaitable<Result<void>> wait_until(TimePoint deadline);

 private:
  struct Waiter {
    asio::steady_timer timer;
    bool notified = false;
  };
  class Place;

  asio::any_io_executor executor_;
  std::list<Waiter*> waiters_;
};

// Success when the time has come; the only error is kClosed: the TaskGroup of the caller stops.
asio::awaitable<Result<void>> sleep_until(TimePoint time);
asio::awaitable<Result<void>> sleep_for(Duration duration);

// Lets other work of this executor run. Same error.
asio::awaitable<Result<void>> yield();

}  // namespace godwit::net
