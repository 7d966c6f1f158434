#include "shared/net/task_group.h"

#include <boost/asio/co_spawn.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/strand.hpp>
#include <boost/asio/thread_pool.hpp>
#include <future>

#include "tests/unit/net/loopback.h"

namespace godwit::net {
namespace {

class TaskGroups : public Loopback {
 protected:
  asio::awaitable<void> sleep_until_stopped() {
    ++running_;
    Result<void> slept;
    while (slept) slept = co_await sleep_for(seconds(1000));
    EXPECT_EQ(slept.error().code, Errc::kClosed);
    const Result<void> again = co_await sleep_for(seconds(1000));
    EXPECT_EQ(again.error().code, Errc::kClosed) << "once stopped, nothing waits any more";
    --running_;
  }
  asio::awaitable<void> return_at_once() {
    ++finished_;
    co_return;
  }
  asio::awaitable<Result<void>> wait_for(Event& event, Duration timeout) {
    return event.wait_until(now() + timeout);
  }
  void stop(TaskGroup& group) {
    bool stopped = false;
    asio::co_spawn(io_, group.stop(), [&stopped](const std::exception_ptr&) { stopped = true; });
    ASSERT_TRUE(run_until([&stopped] { return stopped; }));
  }
  int running_ = 0;
  int finished_ = 0;
};

TEST_F(TaskGroups, StopCancelsAllAndWaitsForAll) {
  TaskGroup group(io_.get_executor());
  for (int i = 0; i < 3; ++i) group.spawn(sleep_until_stopped());
  ASSERT_TRUE(run_until([this] { return running_ == 3; }));
  stop(group);
  EXPECT_EQ(running_, 0);
  EXPECT_EQ(group.size(), 0u);
}

TEST_F(TaskGroups, ATaskThatEndsLeaves) {
  TaskGroup group(io_.get_executor());
  group.spawn(return_at_once());
  ASSERT_TRUE(run_until([&group] { return group.size() == 0; }));
  EXPECT_EQ(finished_, 1);
}

TEST_F(TaskGroups, NothingStartsAfterStop) {
  TaskGroup group(io_.get_executor());
  stop(group);
  group.spawn(return_at_once());
  EXPECT_EQ(group.size(), 0u);
  stop(group);
  EXPECT_EQ(finished_, 0);
}

TEST_F(TaskGroups, StopRightAfterSpawn) {
  TaskGroup group(io_.get_executor());
  for (int i = 0; i < 3; ++i) group.spawn(sleep_until_stopped());
  stop(group);
  EXPECT_EQ(running_, 0);
}

TEST_F(TaskGroups, TasksOnManyThreads) {
  asio::thread_pool pool(2);
  TaskGroup group(asio::make_strand(pool));
  std::atomic<int> ended = 0;
  struct Counter {
    static asio::awaitable<void> sleep(std::atomic<int>& ended) {
      const Result<void> slept = co_await sleep_for(seconds(1000));
      if (!slept) ++ended;
    }
  };
  for (int i = 0; i < 50; ++i) group.spawn(asio::make_strand(pool), Counter::sleep(ended));
  std::promise<void> started;
  asio::post(pool, [&started] { started.set_value(); });
  started.get_future().wait();
  std::promise<void> stopped;
  asio::co_spawn(group.executor(), group.stop(),
                 [&stopped](const std::exception_ptr&) { stopped.set_value(); });
  ASSERT_EQ(stopped.get_future().wait_for(kTestDeadline), std::future_status::ready);
  EXPECT_LE(ended, 50);
  EXPECT_EQ(group.size(), 0u);
}

TEST_F(TaskGroups, AnEventWakesWhoWaits) {
  Event event(io_.get_executor());
  asio::post(io_, [this, &event] { asio::post(io_, [&event] { event.notify(); }); });
  EXPECT_TRUE(await(wait_for(event, kTestDeadline)));
  EXPECT_EQ(await(wait_for(event, milliseconds(1))).error().code, Errc::kTimedOut);
}

TEST(TaskGroupDeathTest, DestroyingAGroupWithTasksIsABug) {
  EXPECT_DEATH(
      {
        asio::io_context io;
        TaskGroup group(io.get_executor());
        group.spawn([]() -> asio::awaitable<void> { co_return; }());
      },
      "must be stopped first");
}

}  // namespace
}  // namespace godwit::net
