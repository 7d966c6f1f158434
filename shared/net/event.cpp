#include "shared/net/event.h"

#include <boost/asio/as_tuple.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/this_coro.hpp>
#include <boost/asio/use_awaitable.hpp>

namespace godwit::net {
namespace {

constexpr auto kQuietly = asio::as_tuple(asio::use_awaitable);

Error stopping() { return Error{Errc::kClosed, "stopping"}; }

asio::awaitable<bool> cancelled() {
  const asio::cancellation_state state = co_await asio::this_coro::cancellation_state;
  co_return state.cancelled() != asio::cancellation_type::none;
}

}  // namespace

// A waiter's entry in the list, for as long as its coroutine waits.
class Event::Place {
 public:
  Place(std::list<Waiter*>& list, Waiter& waiter)
      : list_(list), at_(list.insert(list.end(), &waiter)) {}
  ~Place() { list_.erase(at_); }
  Place(const Place&) = delete;
  Place& operator=(const Place&) = delete;

 private:
  std::list<Waiter*>& list_;
  std::list<Waiter*>::iterator at_;
};

void Event::notify() {
  for (Waiter* waiter : waiters_) {
    waiter->notified = true;
    waiter->timer.cancel();
  }
}

asio::awaitable<Result<void>> Event::wait_until(TimePoint deadline) {
  if (co_await cancelled()) co_return stopping();
  Waiter waiter{asio::steady_timer(executor_, to_steady(deadline))};
  const Place place(waiters_, waiter);
  co_await waiter.timer.async_wait(kQuietly);
  if (co_await cancelled()) co_return stopping();
  if (!waiter.notified) co_return Error{Errc::kTimedOut, "deadline passed"};
  co_return Result<void>();
}

asio::awaitable<Result<void>> sleep_until(TimePoint time) {
  const asio::any_io_executor executor = co_await asio::this_coro::executor;
  Event never(executor);
  const Result<void> woken = co_await never.wait_until(time);
  if (woken.error().code == Errc::kClosed) co_return woken.error();
  co_return Result<void>();
}

asio::awaitable<Result<void>> sleep_for(Duration duration) { return sleep_until(now() + duration); }

asio::awaitable<Result<void>> yield() {
  if (co_await cancelled()) co_return stopping();
  const asio::any_io_executor executor = co_await asio::this_coro::executor;
  co_await asio::post(executor, asio::use_awaitable);
  if (co_await cancelled()) co_return stopping();
  co_return Result<void>();
}

}  // namespace godwit::net
