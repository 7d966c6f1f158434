// Tiny histories: a good one, and for each rule one that breaks it.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <sstream>

#include "tests/history/checker.h"

namespace godwit::history {
namespace {

using ::testing::HasSubstr;
using ::testing::IsEmpty;
using Lines = std::vector<std::string>;

// Worker 1 is us/a with process 10, worker 2 is eu/b with process 20; shard 0.
std::string start(int worker, int incarnation, const std::string& manifest = "7") {
  return R"({"event":"start","name":")" + std::string(worker == 1 ? "us/a" : "eu/b") + R"(","worker":")" +
         std::to_string(worker) + R"(","incarnation":)" + std::to_string(incarnation) + R"(,"manifest":")" + manifest +
         "\"}";
}
std::string push(int sequence, int base, int round, int tokens = 64) {
  return R"({"event":"push","shard":0,"sequence":)" + std::to_string(sequence) +
         R"(,"kind":"pseudo_gradient","base":)" + std::to_string(base) + R"(,"round":)" + std::to_string(round) +
         R"(,"steps":4,"tokens":)" + std::to_string(tokens) + R"(,"weight":16})";
}
std::string answer(const std::string& event, int incarnation, int sequence) {
  return R"({"event":")" + event + R"(","shard":0,"incarnation":)" + std::to_string(incarnation) + R"(,"sequence":)" +
         std::to_string(sequence) + "}";
}
std::string acknowledged(int incarnation, int sequence) { return answer("acknowledged", incarnation, sequence); }
std::string refused(int incarnation, int sequence) { return answer("refused", incarnation, sequence); }
std::string told(int incarnation, int sequence, int version) {
  return R"({"event":"named","shard":0,"incarnation":)" + std::to_string(incarnation) + R"(,"sequence":)" +
         std::to_string(sequence) + R"(,"version":)" + std::to_string(version) + R"(,"verdict":"applied"})";
}
std::string named(int worker, int incarnation, int sequence, const std::string& verdict = "applied") {
  return R"({"worker":")" + std::to_string(worker) + R"(","incarnation":)" + std::to_string(incarnation) +
         R"(,"sequence":)" + std::to_string(sequence) + R"(,"verdict":")" + verdict + "\"}";
}
// The hash tells version and epoch: 203 is version 3 of epoch 2.
std::string entry(int version, int epoch, const std::string& hash, const std::string& previous,
                  const std::string& pushes = "", const std::string& event = "entry", bool merged = true) {
  return R"({"event":")" + event + R"(","shard":0,"version":)" + std::to_string(version) + R"(,"epoch":)" +
         std::to_string(epoch) + R"(,"kind":"round","hash":")" + hash + R"(","previous":")" + previous +
         R"(","merged":)" + (merged ? "true" : "false") + R"(,"pushes":[)" + pushes + "]}";
}
std::string snapshot(int version, int epoch, const std::string& hash, const std::string& previous,
                     const std::string& pushes = "") {
  return entry(version, epoch, hash, previous, pushes, "snapshot");
}
const std::string kEnd = R"({"event":"end","drained":true})";

const std::string kFirst = entry(1, 1, "101", "0");
const std::string kSecond = entry(2, 1, "102", "101", named(1, 10, 1) + "," + named(2, 20, 1));
const std::string kSecondWhole = snapshot(2, 1, "102", "101", named(1, 10, 1) + "," + named(2, 20, 1));
const std::string kThird = entry(3, 1, "103", "102", named(1, 10, 2));

Lines good_a() {
  return {start(1, 10), kFirst, push(1, 1, 1), acknowledged(10, 1), kSecond, push(2, 2, 2), acknowledged(10, 2),
          kThird, kEnd};
}
Lines good_b() { return {start(2, 20), kFirst, push(1, 1, 1), acknowledged(20, 1), kSecond, kThird, kEnd}; }

std::string add(Recording& recording, const std::string& name, const Lines& lines) {
  std::stringstream text;
  for (const std::string& line : lines) text << line << '\n';
  return recording.add(name, text);
}

Report judge(const std::vector<Lines>& files) {
  Recording recording;
  for (std::size_t i = 0; i < files.size(); ++i) {
    EXPECT_EQ(add(recording, std::string(1, static_cast<char>('a' + i)), files[i]), "");
  }
  return check(recording);
}

// "rule@line", line of the first file.
Lines rules(const Report& report) {
  Lines rules;
  for (const Violation& violation : report.violations) {
    rules.push_back(violation.rule + "@" + violation.place.file + std::to_string(violation.place.line));
  }
  return rules;
}
Lines rules(const std::vector<Lines>& files) { return rules(judge(files)); }

Lines replaced(Lines lines, std::size_t line, const std::string& with) {
  lines.at(line - 1) = with;
  return lines;
}
Lines inserted(Lines lines, std::size_t line, const Lines& more) {
  lines.insert(lines.begin() + static_cast<std::ptrdiff_t>(line) - 1, more.begin(), more.end());
  return lines;
}
Lines shortened(Lines lines, std::size_t count) {
  lines.resize(count);
  return lines;
}

TEST(HistoryChecker, AGoodHistoryIsCountedAndClosed) {
  const Report report = judge({good_a(), good_b()});
  EXPECT_THAT(rules(report), IsEmpty());
  EXPECT_TRUE(report.closed);
  EXPECT_EQ(report.workers, 2U);
  EXPECT_EQ(report.versions, 3U);
  EXPECT_EQ(report.unseen, 0U);
  EXPECT_EQ(report.pushes_made, 3U);
  EXPECT_EQ(report.pushes_acknowledged, 3U);
  EXPECT_EQ(report.named_applied, 3U);
  EXPECT_EQ(report.pushes_open, 0U);
  EXPECT_THAT(summary(report), HasSubstr("16 events of 2 processes of 2 workers, closed; "));
  EXPECT_THAT(report_json(report), HasSubstr(R"("history_violations":0,"events":16)"));
}

TEST(HistoryChecker, VerdictsAreCounted) {
  const std::string second =
      entry(2, 1, "102", "101", named(1, 10, 1, "refused") + "," + named(2, 20, 1, "discarded"));
  const Report report = judge({replaced(good_a(), 5, second), replaced(good_b(), 5, second)});
  EXPECT_THAT(rules(report), IsEmpty());
  EXPECT_EQ(report.named_applied, 1U);
  EXPECT_EQ(report.named_refused, 1U);
  EXPECT_EQ(report.named_discarded, 1U);
}

// ---- agreement

TEST(HistoryChecker, ObserversAgreeOnAnEntry) {
  EXPECT_EQ(rules({good_a(), replaced(good_b(), 6, entry(3, 1, "103", "102"))}), Lines{"one_hash_two_entries@b6"});
}

TEST(HistoryChecker, AnEpochHasOneEntryAtAVersion) {
  EXPECT_THAT(rules({good_a(), replaced(good_b(), 6, entry(3, 1, "666", "102", named(1, 10, 2)))}),
              ::testing::Contains("two_entries_at_a_version@b6"));
}

TEST(HistoryChecker, WhatWasNotMergedIsEvidenceToo) {
  const std::string stray = entry(3, 1, "666", "102", "", "entry", false);
  EXPECT_EQ(rules({good_a(), inserted(good_b(), 6, {stray})}), Lines{"two_entries_at_a_version@b6"});
}

TEST(HistoryChecker, ANewerEpochMayReplaceAVersion) {
  const std::string promotion = entry(3, 2, "203", "102");
  const std::string fourth = entry(4, 2, "204", "203", named(1, 10, 2));
  const Lines a = {start(1, 10), kFirst, push(1, 1, 1), acknowledged(10, 1), kSecond, push(2, 2, 2),
                   acknowledged(10, 2), kThird, snapshot(3, 2, "203", "102"), fourth, kEnd};
  const Lines b = {start(2, 20), kFirst, push(1, 1, 1), acknowledged(20, 1), kSecond, promotion, fourth, kEnd};
  const Report report = judge({a, b});
  EXPECT_THAT(rules(report), IsEmpty());
  EXPECT_EQ(report.truncated, 1U);
  EXPECT_TRUE(report.closed);
}

TEST(HistoryChecker, WhatATruncatedVersionNamedIsNamedAgain) {
  const std::string promotion = entry(3, 2, "203", "102");
  const Lines a = {start(1, 10), kFirst, push(1, 1, 1), acknowledged(10, 1), kSecond, push(2, 2, 2),
                   acknowledged(10, 2), kThird, snapshot(3, 2, "203", "102"), kEnd};
  const Report report =
      judge({a, {start(2, 20), kFirst, push(1, 1, 1), acknowledged(20, 1), kSecond, promotion, kEnd}});
  EXPECT_EQ(rules(report), Lines{"acknowledged_push_lost@a6"});
}

// ---- the log

TEST(HistoryChecker, VersionsAreDense) {
  EXPECT_THAT(rules({replaced(good_a(), 8, entry(4, 1, "104", "102", named(1, 10, 2))), shortened(good_b(), 5)}),
              ::testing::Contains("versions_not_dense@a8"));
  EXPECT_THAT(rules({{start(1, 10), snapshot(1, 1, "101", "5")}}), ::testing::Contains("versions_not_dense@a2"));
}

TEST(HistoryChecker, AnEntryFollowsTheOneBefore) {
  const Lines a = replaced(good_a(), 8, entry(3, 1, "103", "666", named(1, 10, 2)));
  EXPECT_THAT(rules({a}), ::testing::Contains("chain_broken@a8"));
}

TEST(HistoryChecker, ANewerEpochDoesNotSkipWhatItsLeaderCommitted) {
  EXPECT_THAT(rules({inserted(good_a(), 9, {entry(4, 2, "204", "103")}),
                     {start(2, 20), kFirst, kSecond, snapshot(3, 2, "203", "102")}}),
              ::testing::Contains("chain_broken@a9"));
}

TEST(HistoryChecker, EpochsNeverDecreaseAlongTheChain) {
  const Lines a = replaced(replaced(good_a(), 5, entry(2, 5, "102", "101", named(1, 10, 1))), 8,
                           entry(3, 4, "103", "102", named(1, 10, 2)));
  EXPECT_THAT(rules({a}), ::testing::Contains("epoch_decreases@a8"));
}

TEST(HistoryChecker, NothingIsNamedTwice) {
  const std::string third = entry(3, 1, "103", "102", named(1, 10, 2) + "," + named(2, 20, 1));
  EXPECT_EQ(rules({replaced(good_a(), 8, third), replaced(good_b(), 6, third)}), Lines{"push_named_twice@a8"});
}

TEST(HistoryChecker, NothingIsNamedTwiceInOneEntry) {
  const std::string third = entry(3, 1, "103", "102", named(1, 10, 2) + "," + named(1, 10, 2));
  EXPECT_EQ(rules({replaced(good_a(), 8, third), replaced(good_b(), 6, third)}), Lines{"push_named_twice@a8"});
}

TEST(HistoryChecker, OnlyWhatWasMadeIsNamed) {
  const std::string third = entry(3, 1, "103", "102", named(1, 10, 2) + "," + named(2, 20, 2));
  EXPECT_EQ(rules({replaced(good_a(), 8, third), replaced(good_b(), 6, third)}), Lines{"named_without_push@a8"});
  EXPECT_THAT(rules({replaced(good_a(), 8, third)}), IsEmpty()) << "worker 2 recorded nothing";
}

TEST(HistoryChecker, AClosedHistoryNamesEveryAcknowledgedPush) {
  const std::string second = entry(2, 1, "102", "101", named(1, 10, 1));
  EXPECT_EQ(rules({replaced(good_a(), 5, second), replaced(good_b(), 5, second)}), Lines{"acknowledged_push_lost@b3"});
}

TEST(HistoryChecker, AnOpenHistoryMayEndBeforeANaming) {
  const Report report = judge({shortened(good_a(), 7)});
  EXPECT_THAT(rules(report), IsEmpty());
  EXPECT_FALSE(report.closed);
  EXPECT_EQ(report.pushes_open, 1U);
}

TEST(HistoryChecker, WhatAKilledProcessPushedIsNamedBeforeLaterPushesOfItsWorker) {
  const Lines killed = shortened(good_a(), 7);
  const Lines restarted = {start(1, 11), kSecondWhole, push(1, 2, 3), acknowledged(11, 1),
                           entry(3, 1, "103", "102", named(1, 11, 1))};
  EXPECT_EQ(rules({killed, restarted}), Lines{"acknowledged_push_lost@a6"});
}

TEST(HistoryChecker, AnAcknowledgementBindsWhoeverHeardIt) {
  const Lines restarted = {start(1, 11), kSecondWhole, acknowledged(10, 2), push(1, 2, 3), acknowledged(11, 1),
                           entry(3, 1, "103", "102", named(1, 11, 1))};
  EXPECT_EQ(rules({shortened(good_a(), 6), restarted}), Lines{"acknowledged_push_lost@a6"});
  EXPECT_EQ(rules({shortened(good_a(), 5), restarted}), Lines{"answer_without_push@b3"});
}

TEST(HistoryChecker, AGapHidesWhatItMayHold) {
  // Nobody saw version 2, which may name b's push.
  const Lines a = {start(1, 10), kFirst, snapshot(3, 1, "103", "102"), kEnd};
  const Lines b = {start(2, 20), kFirst, push(1, 1, 1), acknowledged(20, 1), snapshot(3, 1, "103", "102"), kEnd};
  const Report report = judge({a, b});
  EXPECT_THAT(rules(report), IsEmpty());
  EXPECT_EQ(report.unseen, 1U);
  EXPECT_EQ(report.pushes_open, 1U);
}

// ---- a process

TEST(HistoryChecker, SequencesAreDense) {
  EXPECT_THAT(rules({replaced(good_a(), 6, push(3, 2, 2))}), ::testing::Contains("sequence_gap@a6"));
  EXPECT_THAT(rules({replaced(good_a(), 3, push(2, 1, 1))}), ::testing::Contains("sequence_gap@a3"));
}

TEST(HistoryChecker, ARepeatedPushIsTheSameOne) {
  EXPECT_THAT(rules({inserted(good_a(), 4, {push(1, 1, 1)}), good_b()}), IsEmpty());
  EXPECT_EQ(rules({inserted(good_a(), 4, {push(1, 1, 1, 65)}), good_b()}), Lines{"push_changed@a4"});
}

TEST(HistoryChecker, ThereIsOneUnnamedPush) {
  EXPECT_THAT(rules({inserted(good_a(), 5, {push(2, 1, 2)}), good_b()}), ::testing::Contains("push_too_early@a5"));
}

TEST(HistoryChecker, APushIsBasedOnWhatWasHeld) {
  EXPECT_EQ(rules({replaced(good_a(), 6, push(2, 3, 2)), good_b()}), Lines{"base_not_held@a6"});
  EXPECT_EQ(rules({replaced(good_a(), 6, push(2, 1, 2)), good_b()}), Lines{"base_not_held@a6"});
}

TEST(HistoryChecker, APushIsNamedAboveItsBase) {
  const std::string first = entry(1, 1, "101", "0", named(1, 10, 1));
  const std::string second = entry(2, 1, "102", "101", named(2, 20, 1));
  const Lines a = {start(1, 10), first, push(1, 1, 1), acknowledged(10, 1), second, kEnd};
  EXPECT_EQ(rules({a, {start(2, 20), first, push(1, 1, 1), second}}), Lines{"named_below_its_base@a3"});
}

TEST(HistoryChecker, AnswersDoNotContradictEachOther) {
  EXPECT_EQ(rules({inserted(good_a(), 5, {acknowledged(10, 1)}), good_b()}), Lines());
  EXPECT_THAT(rules({inserted(good_a(), 5, {refused(10, 1)}), good_b()}),
              ::testing::Contains("refused_after_acknowledged@a5"));
  EXPECT_THAT(rules({inserted(good_a(), 4, {refused(10, 1)}), good_b()}),
              ::testing::Contains("acknowledged_after_refused@a5"));
  EXPECT_EQ(rules({inserted(good_a(), 3, {acknowledged(10, 1)}), good_b()}), Lines{"answer_without_push@a3"});
}

TEST(HistoryChecker, WhatWasRefusedIsNotNamedUnlessItWasMadeAnew) {
  EXPECT_EQ(rules({replaced(good_a(), 4, refused(10, 1)), good_b()}), Lines{"refused_but_named@a3"});
  EXPECT_EQ(rules({inserted(good_a(), 4, {refused(10, 1), push(1, 1, 2, 128)}), good_b()}), Lines());
}

TEST(HistoryChecker, ATellingNeedsAPush) {
  const Lines a = {start(1, 10), kFirst, push(1, 1, 1), snapshot(3, 1, "103", "102"), told(10, 1, 2), push(2, 3, 4)};
  EXPECT_EQ(rules({a}), Lines());
  EXPECT_THAT(rules({replaced(a, 5, told(10, 2, 2))}), ::testing::Contains("named_without_push@a5"));
}

TEST(HistoryChecker, ReadsGoForward) {
  const Lines a = inserted(good_a(), 9, {snapshot(2, 1, "102", "101")});
  EXPECT_THAT(rules({a}), ::testing::Contains("read_went_back@a9"));
  EXPECT_THAT(rules({{start(1, 10), snapshot(4, 2, "204", "203"), snapshot(5, 1, "105", "104")}}),
              ::testing::Contains("read_went_back@a3"));
}

TEST(HistoryChecker, AnEntryIsMergedIntoTheOneItFollows) {
  EXPECT_EQ(rules({good_a(), {start(2, 21), kFirst, kThird}}), Lines{"read_does_not_follow@b3"});
}

// ---- restarts, and files

TEST(HistoryChecker, ARestartHasAHigherIncarnation) {
  EXPECT_EQ(rules({good_a(), {start(1, 11)}, good_b()}), Lines());
  EXPECT_EQ(rules({good_a(), {start(1, 10)}, good_b()}), Lines{"incarnation_not_higher@b1"});
}

TEST(HistoryChecker, AllTrainOneModel) {
  EXPECT_EQ(rules({good_a(), replaced(good_b(), 1, start(2, 20, "8"))}), Lines{"another_model@b1"});
}

TEST(Recording, ALineThatDeathToreIsSkipped) {
  Recording recording;
  const Lines torn = {start(1, 10), kFirst, kSecond.substr(0, 40), "",
                      start(1, 11), kFirst, push(1, 1, 1).substr(0, 5)};
  EXPECT_EQ(add(recording, "a", torn), "");
  EXPECT_EQ(recording.torn_lines(), 2U);
  EXPECT_EQ(recording.processes().size(), 2U);
  EXPECT_EQ(recording.events(), 4U);
}

TEST(Recording, AnyOtherLineThatIsNoEventIsAnError) {
  Recording recording;
  EXPECT_EQ(add(recording, "a", {start(1, 10), "{}", kFirst}), "a:2: not an event");
  EXPECT_EQ(add(recording, "b", {kFirst}), "b:1: an event before any start");
  EXPECT_EQ(recording.add_file("/nowhere/history"), "/nowhere/history: cannot be read");
}

}  // namespace
}  // namespace godwit::history
