#include "server/control/embedded_control_store.h"

#include <gtest/gtest.h>

#include <atomic>
#include <thread>
#include <vector>

#include "server/storage/memory_store.h"
#include "tests/unit/control/requests.h"

namespace godwit {
namespace {

using namespace requests;

class EmbeddedControlStoreTest : public testing::Test {
 protected:
  EmbeddedControlStoreTest() { restart(); }
  void restart() {
    control_.reset();
    auto opened = EmbeddedControlStore::open(store_, [this] { return now_.load(); });
    ASSERT_TRUE(opened.has_value()) << opened.error().to_string();
    control_ = std::move(*opened);
  }
  std::string ask(const ControlRequest& request) { return describe(control_->ask(request)); }
  // The answer lands in the string that is returned; "..." until then.
  std::shared_ptr<std::string> send(const ControlRequest& request) {
    auto answer = std::make_shared<std::string>("...");
    control_->request(request, [answer](const ControlReply& reply) {
      EXPECT_EQ(*answer, "...") << "answered twice";
      *answer = describe(reply);
    });
    return answer;
  }
  void pass(Duration time) {
    now_ = now_.load() + time;
    control_->tick();
  }
  EmbeddedControlStore& control() { return *control_; }
  MemoryStore& store() { return store_; }

 private:
  MemoryStore store_;
  std::atomic<TimePoint> now_{TimePoint(seconds(1000))};
  std::unique_ptr<EmbeddedControlStore> control_;
};

TEST_F(EmbeddedControlStoreTest, EveryRaceHasOneWinner) {
  constexpr int kThreads = 4;
  constexpr int kWins = 200;
  std::vector<std::thread> threads;
  for (int thread = 0; thread < kThreads; ++thread) {
    threads.emplace_back([this] {
      Revision revision;
      int counter = 0;
      for (int wins = 0; wins < kWins;) {
        const ControlReply reply =
            control().ask(swap("counter", revision.value(), std::to_string(counter + 1)));
        ASSERT_EQ(reply.items.size(), 1U);
        revision = reply.items[0].revision;
        counter = std::stoi(std::string(text(reply.items[0].value)));
        if (!reply.error) ++wins;
      }
    });
  }
  for (auto& thread : threads) thread.join();
  EXPECT_EQ(ask(get("counter")), "counter=800@800 | 800");
}

TEST_F(EmbeddedControlStoreTest, AChangeIsDurableWhenItIsAnswered) {
  Random random(3);
  for (std::uint64_t revision = 0; revision < 20; ++revision) {
    const std::string expected =
        "a=x@" + std::to_string(revision + 1) + " | " + std::to_string(revision + 1);
    EXPECT_EQ(ask(swap("a", revision, "x")), expected);
    store().crash(random);
    restart();
    EXPECT_EQ(ask(get("a")), expected);
  }
}

TEST_F(EmbeddedControlStoreTest, AWatchWaitsForAChangeUnderItsPrefix) {
  const auto answer = send(watch("shard/", 0, seconds(10)));
  EXPECT_EQ(*answer, "...");
  ask(swap("run/mode", 0, "sync"));
  EXPECT_EQ(*answer, "...");
  ask(swap("shard/0/leader", 0, "eu"));
  EXPECT_EQ(*answer, "shard/0/leader=eu@2 | 2");
  ask(swap("shard/0/leader", 2, "us"));
  EXPECT_EQ(*send(watch("shard/", 2, seconds(10))), "shard/0/leader=us@3 | 3")
      << "nothing to wait for";
}

TEST_F(EmbeddedControlStoreTest, AWatchTimesOutWithNothing) {
  ask(swap("a", 0, "x"));
  const auto answer = send(watch("", 1, seconds(10)));
  pass(seconds(10) - Duration(1));
  EXPECT_EQ(*answer, "...");
  pass(Duration(1));
  EXPECT_EQ(*answer, "| 1");
}

TEST_F(EmbeddedControlStoreTest, AWatchSeesALeaseRunOut) {
  ask(keep("region/1/lease", "eu", seconds(3)));
  const auto answer = send(watch("region/", 1, seconds(10)));
  pass(seconds(2));
  EXPECT_EQ(*answer, "...");
  pass(seconds(1));
  EXPECT_EQ(*answer, "region/1/lease=@2 | 2");
}

TEST_F(EmbeddedControlStoreTest, ACallbackMayAskAgain) {
  std::string seen;
  control().request(watch("a", 0, seconds(10)), [&](const ControlReply& first) {
    seen += describe(first) + "; ";
    control().request(swap("b", 0, "y"),
                      [&](const ControlReply& second) { seen += describe(second); });
  });
  ask(swap("a", 0, "x"));
  EXPECT_EQ(seen, "a=x@1 | 1; b=y@2 | 2");
}

TEST_F(EmbeddedControlStoreTest, TooManyWatchesAreRefused) {
  for (std::size_t i = 0; i < kControlWatchesMax; ++i) send(watch("a", 0, seconds(10)));
  EXPECT_EQ(*send(watch("a", 0, seconds(10))), "overloaded | 0");
  pass(seconds(10));
  EXPECT_EQ(*send(watch("a", 0, seconds(10))), "...");
}

TEST_F(EmbeddedControlStoreTest, AfterAFailedWriteNothingIsAnsweredAnyMore) {
  ask(swap("a", 0, "x"));
  const auto waiting = send(watch("", 1, seconds(10)));
  store().fail_writes({Errc::kIo, "disk full"});
  EXPECT_EQ(ask(swap("a", 1, "y")), "io | 0");
  EXPECT_EQ(*waiting, "io | 0") << "a change that may be lost is told to nobody";
  EXPECT_EQ(ask(get("a")), "io | 0");
  Random random(1);
  store().crash(random);
  EXPECT_EQ(ask(get("a")), "io | 0") << "until a restart";
  restart();
  EXPECT_NE(ask(get("a")).find("a="), std::string::npos);
}

TEST_F(EmbeddedControlStoreTest, StopAnswersEverybody) {
  const auto waiting = send(watch("", 0, seconds(10)));
  control().stop();
  EXPECT_EQ(*waiting, "closed | 0");
  EXPECT_EQ(ask(swap("a", 0, "x")), "closed | 0");
  restart();
  EXPECT_EQ(ask(get("a")), "| 0");
}

}  // namespace
}  // namespace godwit
