// When a worker pushes, skips, repeats and waits.
#include "worker/core/worker_core.h"

#include <gtest/gtest.h>

#include "tests/unit/worker/tiny_log.h"

namespace godwit::test {
namespace {

class WorkerCoreTest : public ::testing::Test {
 protected:
  WorkerCoreTest() {
    theta.add(memory);
    receive(log.append(std::vector<float>(kTinyParameters, 1)));
    core.join();
  }
  WorkerEffects receive(const Entry& entry) {
    return core.on_message(PullReply{ShardId(), PullOutcome::kEntries, {entry}, {}, {}}, theta,
                           now);
  }
  WorkerEffects step() {
    for (float& value : memory) value += 1;
    now += milliseconds(100);
    return core.on_step(4, 0.1F, theta, now);
  }
  WorkerEffects announce(std::uint64_t round) {
    return core.on_message(Announce{ShardId(), Epoch(1), Round(round), 1000}, theta, now);
  }
  WorkerEffects answer(PushOutcome outcome, std::uint64_t sequence = 1) {
    return core.on_message(PushReply{ShardId(), id(sequence), outcome, Errc::kInvalid, "why", 50},
                           theta, now);
  }
  static PushId id(std::uint64_t sequence) {
    return {WorkerId(1), Incarnation(1), SequenceNo(sequence)};
  }
  template <class M>
  static const M* sent(const WorkerEffects& effects) {
    for (const Message& message : effects.sends) {
      if (const M* found = std::get_if<M>(&message)) return found;
    }
    return nullptr;
  }
  static WorkerSettings settings() {
    WorkerSettings settings;
    settings.id = WorkerId(1);
    settings.incarnation = Incarnation(1);
    settings.weight = 4;
    settings.max_local_steps = 3;
    return settings;
  }

  TinyLog log;
  std::vector<float> memory = std::vector<float>(kTinyParameters);
  Parameters theta;
  TimePoint now{seconds(1)};
  WorkerCore core{settings(), Layout(tiny_manifest())};
};

TEST_F(WorkerCoreTest, PushesAtTheBoundaryAfterAnAnnouncement) {
  EXPECT_EQ(sent<Push>(step()), nullptr);
  announce(1);
  const WorkerEffects effects = step();
  const Push* push = sent<Push>(effects);
  ASSERT_NE(push, nullptr);
  EXPECT_EQ(push->header.round, Round(1));
  EXPECT_EQ(push->header.steps, 2U);
  EXPECT_EQ(push->header.tokens, 8U);
}

TEST_F(WorkerCoreTest, SkipsWhileItsLastPushIsUnnamed) {
  announce(1);
  step();
  announce(2);
  const WorkerEffects effects = step();
  EXPECT_EQ(sent<Push>(effects), nullptr);
  ASSERT_NE(sent<Skip>(effects), nullptr);
  EXPECT_EQ(sent<Skip>(effects)->round, Round(2));
}

TEST_F(WorkerCoreTest, PushesEveryTwoWindowsWhenNobodyAnnounces) {
  announce(1);
  step();
  receive(log.append(std::vector<float>(kTinyParameters, 1), {{id(1)}}));
  for (int i = 0; i < 19; ++i) EXPECT_EQ(sent<Push>(step()), nullptr) << "step " << i;
  const WorkerEffects effects = step();  // two windows of one second
  ASSERT_NE(sent<Push>(effects), nullptr);
  EXPECT_EQ(sent<Push>(effects)->header.round, Round(2));
}

TEST_F(WorkerCoreTest, WaitsOnlyAtTheMostLocalSteps) {
  announce(1);
  step();
  for (int i = 0; i < 2; ++i) {
    step();
    EXPECT_EQ(core.must_wait(), "");
  }
  step();
  EXPECT_NE(core.must_wait(), "");
  receive(log.append(std::vector<float>(kTinyParameters, 1), {{id(1)}}));
  EXPECT_EQ(core.must_wait(), "");
}

TEST_F(WorkerCoreTest, ARefusedPushGivesItsStepsAndItsNumberBack) {
  announce(1);
  step();
  EXPECT_EQ(answer(PushOutcome::kRefused).warnings.size(), 1U);
  announce(2);
  const WorkerEffects effects = step();
  ASSERT_NE(sent<Push>(effects), nullptr);
  EXPECT_EQ(sent<Push>(effects)->header.id, id(1));
  EXPECT_EQ(sent<Push>(effects)->header.steps, 2U);
}

// Incarnations come from a clock, and people set clocks: a process that starts with one of yesterday goes on.
TEST_F(WorkerCoreTest, AProcessWhoseClockWasSetBackOutdoesTheOneBefore) {
  const Incarnation before(1'000'000);
  announce(1);
  step();
  PushReply refusal{ShardId(), id(1), PushOutcome::kRefused, Errc::kConflict, "why", 0, before};
  EXPECT_EQ(core.on_message(refusal, theta, now).warnings.size(), 2U);
  announce(2);
  const WorkerEffects effects = step();
  const Push* push = sent<Push>(effects);
  ASSERT_NE(push, nullptr);
  EXPECT_GT(push->header.id.incarnation, before);
  EXPECT_EQ(push->header.id.sequence, SequenceNo(1));
  EXPECT_EQ(push->header.steps, 2U) << "nothing is lost";
  const PushReply reply{ShardId(), push->header.id, PushOutcome::kAcknowledged, Errc::kInternal, "", 0, {}};
  EXPECT_EQ(core.on_message(reply, theta, now).acknowledged.size(), 1U);
}

TEST_F(WorkerCoreTest, AFinishedWorkerLeavesOnceEverythingIsAcknowledgedAndStaysAway) {
  step();
  const WorkerEffects pushing = core.finish(theta, now);
  EXPECT_NE(sent<Push>(pushing), nullptr);
  EXPECT_EQ(sent<Leave>(pushing), nullptr);
  answer(PushOutcome::kAcknowledged);
  EXPECT_NE(sent<Leave>(core.finish(theta, now)), nullptr);
  EXPECT_EQ(sent<Leave>(core.finish(theta, now)), nullptr);
  EXPECT_EQ(sent<Join>(core.on_connected(now)), nullptr) << "a new connection does not bring it back";
}

TEST_F(WorkerCoreTest, AProcessThatHasPushedGivesWayToANewerOne) {
  announce(1);
  step();
  answer(PushOutcome::kAcknowledged);
  receive(log.append(std::vector<float>(kTinyParameters, 1), {{id(1)}}));
  announce(2);
  step();
  PushReply refusal{ShardId(), id(2), PushOutcome::kRefused, Errc::kConflict, "why", 0, Incarnation(2)};
  core.on_message(refusal, theta, now);
  announce(3);
  const WorkerEffects effects = step();
  ASSERT_NE(sent<Push>(effects), nullptr);
  EXPECT_EQ(sent<Push>(effects)->header.id, id(2));
}

TEST_F(WorkerCoreTest, AnOverloadedServerGetsTheSamePushAgain) {
  announce(1);
  step();
  answer(PushOutcome::kOverloaded);
  EXPECT_EQ(sent<Push>(core.on_tick(theta, now)), nullptr);
  now += milliseconds(50);
  const WorkerEffects effects = core.on_tick(theta, now);
  ASSERT_NE(sent<Push>(effects), nullptr);
  EXPECT_EQ(sent<Push>(effects)->header.id, id(1));
}

TEST_F(WorkerCoreTest, AnAcknowledgementCountsOnce) {
  announce(1);
  step();
  EXPECT_EQ(answer(PushOutcome::kAcknowledged).acknowledged.size(), 1U);
  EXPECT_EQ(answer(PushOutcome::kAcknowledged).acknowledged.size(), 0U);
}

TEST_F(WorkerCoreTest, ANewConnectionRepeatsOnlyWhatIsNotAcknowledged) {
  announce(1);
  step();
  EXPECT_NE(sent<Push>(core.on_connected(now)), nullptr);
  answer(PushOutcome::kAcknowledged);
  const WorkerEffects effects = core.on_connected(now);
  EXPECT_EQ(sent<Push>(effects), nullptr);
  EXPECT_NE(sent<Join>(effects), nullptr);
  EXPECT_NE(sent<Pull>(effects), nullptr);
}

TEST_F(WorkerCoreTest, InSyncItPushesEveryHStepsAndWaitsUntilNamed) {
  receive(log.append_mode(Mode::kSync, 2));
  EXPECT_TRUE(core.synchronous());
  EXPECT_EQ(sent<Push>(step()), nullptr);
  EXPECT_EQ(core.must_wait(), "");
  const WorkerEffects effects = step();
  ASSERT_NE(sent<Push>(effects), nullptr);
  EXPECT_EQ(sent<Push>(effects)->header.steps, 2U);
  EXPECT_NE(core.must_wait(), "");
  receive(log.append(std::vector<float>(kTinyParameters, 1), {{id(1)}}));
  EXPECT_EQ(core.must_wait(), "");
  EXPECT_EQ(memory, log.values());
}

}  // namespace
}  // namespace godwit::test
