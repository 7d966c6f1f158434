#include "worker/app/command_line.h"

#include <gtest/gtest.h>

#include "worker/app/exit_codes.h"
#include "worker/app/suggestion.h"

namespace godwit::app {
namespace {

Command parse(std::vector<const char*> words) {
  words.insert(words.begin(), "godwit-worker");
  return parse_command_line(static_cast<int>(words.size()), words.data());
}

void expect_refused(std::vector<const char*> words, const std::string& part) {
  const Command command = parse(std::move(words));
  ASSERT_TRUE(std::holds_alternative<Usage>(command)) << part;
  const Usage& usage = std::get<Usage>(command);
  EXPECT_EQ(usage.exit_code, kExitUsage);
  EXPECT_NE(usage.text.find(part), std::string::npos) << usage.text;
}

TEST(CommandLine, ReadsATrainCommand) {
  const Command command = parse({"train",
                                 "--server",
                                 "localhost:7000",
                                 "--region",
                                 "us",
                                 "--name",
                                 "w0",
                                 "--cert",
                                 "c",
                                 "--key",
                                 "k",
                                 "--ca",
                                 "a",
                                 "--history",
                                 "h",
                                 "--data",
                                 "text",
                                 "--regions",
                                 "3",
                                 "--region-index",
                                 "2",
                                 "--batch",
                                 "4",
                                 "--schedule-tokens",
                                 "1000"});
  ASSERT_TRUE(std::holds_alternative<TrainCommand>(command));
  const TrainCommand& train = std::get<TrainCommand>(command);
  EXPECT_EQ(train.session.server, "localhost:7000");
  EXPECT_EQ(train.session.authority_file, "a");
  EXPECT_EQ(train.session.history_file, "h");
  EXPECT_EQ(train.region_index, 2U);
  EXPECT_EQ(train.options.batch, 4U);
  EXPECT_EQ(train.options.learning_rate.schedule_tokens, 1000U);
}

TEST(CommandLine, RefusesWithTheCauseAndTheFix) {
  expect_refused({"trian"}, "Did you mean 'train'?");
  expect_refused({"train", "--alone", "--data", "x", "--bacth", "3"}, "Did you mean '--batch'?");
  expect_refused({"train", "--alone", "--data", "x", "--zzzzzz"}, "unknown option '--zzzzzz'");
  expect_refused({"train", "--alone"}, "--data is required");
  expect_refused({"train", "--data", "x"}, "--server is missing");
  expect_refused({"train", "--alone", "--data", "x", "--batch", "0"}, "--batch");
  expect_refused({"train", "--alone", "--data", "x", "--regions", "2", "--region-index", "2"},
                 "--region-index");
  expect_refused({}, "Subcommands");
}

TEST(CommandLine, HelpIsNotAnError) {
  EXPECT_EQ(std::get<Usage>(parse({"--help"})).exit_code, kExitOk);
  const Usage help = std::get<Usage>(parse({"evaluate", "--help"}));
  EXPECT_EQ(help.exit_code, kExitOk);
  EXPECT_NE(help.text.find("--max-bytes"), std::string::npos);
  EXPECT_TRUE(std::holds_alternative<VersionCommand>(parse({"version"})));
}

TEST(Suggestion, IsNearOrNothing) {
  EXPECT_EQ(nearest("--accumlate", {"--accumulate", "--alone"}), "--accumulate");
  EXPECT_EQ(nearest("evalute", {"train", "evaluate"}), "evaluate");
  EXPECT_EQ(nearest("frobnicate", {"train", "evaluate"}), "");
}

TEST(ExitCodes, TellConfigurationAndConnectionApart) {
  EXPECT_EQ(exit_code(Errc::kConfig), kExitUsage);
  EXPECT_EQ(exit_code(Errc::kUnavailable), kExitUnreachable);
  EXPECT_EQ(exit_code(Errc::kConflict), kExitFailed);
}

}  // namespace
}  // namespace godwit::app
