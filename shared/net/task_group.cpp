#include "shared/net/task_group.h"

#include <boost/asio/as_tuple.hpp>
#include <boost/asio/bind_cancellation_slot.hpp>
#include <boost/asio/cancellation_signal.hpp>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/this_coro.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <exception>
#include <mutex>
#include <set>

#include "shared/base/check.h"
#include "shared/base/log.h"

namespace godwit::net {
namespace {

// How long stop() waits before it says, again and again, that tasks have not ended.
constexpr std::chrono::seconds kSlowStop(5);

struct Task {
  asio::any_io_executor executor;
  // the rest: touched on executor only
  asio::cancellation_signal cancel;
  bool cancel_requested = false;
};

// Cancellation is then seen as kClosed by what waits, not as an exception out of any co_await.
asio::awaitable<void> without_throwing(asio::awaitable<void> task) {
  co_await asio::this_coro::throw_if_cancelled(false);
  co_await std::move(task);
}

// A task cancelled before its first step ends with operation_aborted; nothing else may escape.
void require_clean_end(const std::exception_ptr& failure) {
  if (!failure) return;
  try {
    std::rethrow_exception(failure);
  } catch (const boost::system::system_error& error) {
    GODWIT_CHECK(error.code() == asio::error::operation_aborted, error.what());
  } catch (const std::exception& error) {
    GODWIT_CHECK(failure == nullptr, error.what());
  }
}

}  // namespace

struct TaskGroup::State {
  explicit State(asio::any_io_executor where) : executor(std::move(where)), all_ended(executor) {}

  const asio::any_io_executor executor;
  asio::steady_timer all_ended;  // touched on executor only
  mutable std::mutex mutex;      // guards the rest
  std::set<std::shared_ptr<Task>> tasks;
  bool stopping = false;

  void ended(const std::shared_ptr<Task>& task, const std::shared_ptr<State>& self) {
    const std::lock_guard lock(mutex);
    tasks.erase(task);
    if (stopping && tasks.empty()) asio::post(executor, [self] { self->all_ended.cancel(); });
  }
};

TaskGroup::TaskGroup(asio::any_io_executor executor)
    : state_(std::make_shared<State>(std::move(executor))) {}

TaskGroup::~TaskGroup() { GODWIT_REQUIRE(size() == 0, "a task group must be stopped first"); }

const asio::any_io_executor& TaskGroup::executor() const { return state_->executor; }

std::size_t TaskGroup::size() const {
  const std::lock_guard lock(state_->mutex);
  return state_->tasks.size();
}

void TaskGroup::spawn(asio::awaitable<void> task) { spawn(state_->executor, std::move(task)); }

void TaskGroup::spawn(asio::any_io_executor executor, asio::awaitable<void> task) {
  auto entry = std::make_shared<Task>();
  entry->executor = executor;
  {
    const std::lock_guard lock(state_->mutex);
    if (state_->stopping) return;
    state_->tasks.insert(entry);
  }
  asio::post(executor, [state = state_, entry, task = std::move(task)]() mutable {
    if (entry->cancel_requested) return state->ended(entry, state);
    auto on_end = [state, entry](const std::exception_ptr& failure) {
      require_clean_end(failure);
      state->ended(entry, state);
    };
    asio::co_spawn(entry->executor, without_throwing(std::move(task)),
                   asio::bind_cancellation_slot(entry->cancel.slot(), std::move(on_end)));
  });
}

asio::awaitable<void> TaskGroup::stop() {
  {
    const std::lock_guard lock(state_->mutex);
    state_->stopping = true;
    for (const std::shared_ptr<Task>& task : state_->tasks) {
      asio::post(task->executor, [task] {
        task->cancel_requested = true;
        task->cancel.emit(asio::cancellation_type::terminal);
      });
    }
  }
  while (size() != 0) {
    state_->all_ended.expires_after(kSlowStop);
    const auto [error] = co_await state_->all_ended.async_wait(asio::as_tuple(asio::use_awaitable));
    if (!error && size() != 0) {
      log::warning("net", "stopping: still waiting for " + std::to_string(size()) + " tasks");
    }
  }
}

}  // namespace godwit::net
