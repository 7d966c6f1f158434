// TaskGroup: every coroutine belongs to one. Rules for tasks:
//  - they wait only through Event, sleep, Connection and friends, which return kClosed once the
//    group stops; on kClosed a task winds up and returns;
//  - they let no exception escape: one that does is a bug and aborts.
#pragma once

#include <boost/asio/any_io_executor.hpp>
#include <boost/asio/awaitable.hpp>
#include <memory>

namespace godwit::net {

namespace asio = boost::asio;

class TaskGroup {
 public:
  // `executor` is where stop() runs and where tasks run unless told otherwise.
  explicit TaskGroup(asio::any_io_executor executor);
  // REQUIRES: empty, so await stop() first.
  ~TaskGroup();
  TaskGroup(const TaskGroup&) = delete;
  TaskGroup& operator=(const TaskGroup&) = delete;

  // Any thread. Once stop() has begun the task is dropped without running.
  void spawn(asio::awaitable<void> task);
  void spawn(asio::any_io_executor executor, asio::awaitable<void> task);

  // Refuses new tasks, cancels all, waits for all; again is fine. Not from a task of this group.
  asio::awaitable<void> stop();

  std::size_t size() const;
  const asio::any_io_executor& executor() const;

 private:
  struct State;
  std::shared_ptr<State> state_;
};

}  // namespace godwit::net
