// What a worker records is what the checker reads: a core whose every message goes through the recorder.
#include <gtest/gtest.h>

#include <fstream>

#include "tests/history/checker.h"
#include "tests/support/process.h"
#include "tests/unit/worker/tiny_log.h"
#include "worker/client/history.h"

namespace godwit::test {
namespace {

WorkerSettings settings(std::uint64_t incarnation) {
  WorkerSettings settings;
  settings.id = WorkerId(~0ULL);  // needs all 64 bits
  settings.incarnation = Incarnation(incarnation);
  settings.weight = 4;
  return settings;
}

// One process, as worker/client runs it.
class RecordedWorker {
 public:
  RecordedWorker(const std::string& file, std::uint64_t incarnation)
      : settings_(settings(incarnation)), core_(settings_, Layout(tiny_manifest())) {
    theta_.add(memory_);
    EXPECT_TRUE(history_.open(file));
    history_.start("us/\"a\"", settings_);
  }
  void receive(const Message& message) {
    const WorkerEffects effects = core_.on_message(message, theta_, now_);
    history_.received(message, core_);
    perform(effects);
  }
  void receive(const std::vector<Entry>& entries) {
    receive(PullReply{ShardId(), PullOutcome::kEntries, entries, {}, {}});
  }
  void answer(PushOutcome outcome, std::uint64_t sequence) {
    receive(PushReply{ShardId(), id(sequence), outcome, Errc::kInvalid, "it's \"no\"\n", 50});
  }
  void join() { core_.join(); }
  void push(std::uint64_t round) {
    receive(Announce{ShardId(), Epoch(1), Round(round), 1000});
    perform(core_.on_step(4, 0.1F, theta_, now_));
  }
  void reconnect() { perform(core_.on_connected(now_)); }
  void end() { history_.end(core_.everything_named()); }
  PushId id(std::uint64_t sequence) const { return {settings_.id, settings_.incarnation, SequenceNo(sequence)}; }

 private:
  void perform(const WorkerEffects& effects) {
    for (const Message& message : effects.sends) history_.sent(message);
  }

  WorkerSettings settings_;
  std::vector<float> memory_ = std::vector<float>(kTinyParameters);
  Parameters theta_;
  TimePoint now_{seconds(1)};
  WorkerCore core_;
  client::History history_;
};

class HistoryFile : public ::testing::Test {
 protected:
  history::Report judge() const {
    history::Recording recording;
    EXPECT_EQ(recording.add_file(file), "");
    const history::Report report = history::check(recording);
    for (const history::Violation& violation : report.violations) ADD_FAILURE() << to_string(violation);
    return report;
  }

  support::TemporaryFolder folder;
  const std::string file = folder.path() + "/history";
  TinyLog log;
};

TEST_F(HistoryFile, TellsWhatAWorkerDidAndSaw) {
  RecordedWorker worker(file, 1);
  worker.receive({log.append(std::vector<float>(kTinyParameters, 1))});
  worker.join();
  worker.push(1);
  worker.answer(PushOutcome::kOverloaded, 1);
  worker.reconnect();  // repeats it
  worker.answer(PushOutcome::kAcknowledged, 1);
  worker.receive({log.append(std::vector<float>(kTinyParameters, 1), {{worker.id(1)}})});
  worker.push(2);
  worker.answer(PushOutcome::kRefused, 2);
  worker.push(3);
  worker.answer(PushOutcome::kAcknowledged, 2);
  const Entry third = log.append(std::vector<float>(kTinyParameters, 1), {{worker.id(2), Verdict::kRefused}});
  worker.receive({third});
  worker.receive({third});  // the answer to a second pull: not merged again
  worker.end();

  const history::Report report = judge();
  EXPECT_TRUE(report.closed);
  EXPECT_EQ(report.events, 13U);
  EXPECT_EQ(report.versions, 3U);
  EXPECT_EQ(report.pushes_made, 2U);
  EXPECT_EQ(report.pushes_acknowledged, 2U);
  EXPECT_EQ(report.named_applied, 1U);
  EXPECT_EQ(report.named_refused, 1U);
}

TEST_F(HistoryFile, IsGoneOnWithByTheNextProcess) {
  {
    RecordedWorker worker(file, 1);
    worker.receive({log.append(std::vector<float>(kTinyParameters, 1))});
    worker.join();
    worker.push(1);
    worker.answer(PushOutcome::kAcknowledged, 1);
    std::ofstream(file, std::ios::app) << R"({"event":"entry","sha)";  // SIGKILL
  }
  RecordedWorker worker(file, 2);
  const PushId before{WorkerId(~0ULL), Incarnation(1), SequenceNo(1)};
  log.append(std::vector<float>(kTinyParameters, 1), {{before}});
  PullReply reply{ShardId(), PullOutcome::kSnapshot, {}, log.snapshot(), {}};
  worker.receive(reply);
  worker.join();
  worker.push(3);
  log.append(std::vector<float>(kTinyParameters, 1), {{worker.id(1)}});
  log.append(std::vector<float>(kTinyParameters, 1));
  reply.snapshot = log.snapshot();
  reply.named = NamedPush{worker.id(1), Version(3), Verdict::kApplied};
  worker.receive(reply);
  worker.end();

  const history::Report report = judge();
  EXPECT_EQ(report.torn_lines, 1U);
  EXPECT_EQ(report.processes, 2U);
  EXPECT_EQ(report.unseen, 1U);
  EXPECT_EQ(report.pushes_open, 0U);
  EXPECT_TRUE(report.closed);
}

TEST_F(HistoryFile, CannotBeWrittenEverywhere) {
  client::History history;
  const Result<void> opened = history.open(folder.path() + "/absent/history");
  ASSERT_FALSE(opened);
  EXPECT_EQ(opened.error().code, Errc::kConfig);
}

}  // namespace
}  // namespace godwit::test
