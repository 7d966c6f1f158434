#include "server/cli/command_line.h"

#include <gtest/gtest.h>

#include <sstream>

#include "server/cli/application.h"

namespace godwit::cli {
namespace {

using Arguments = std::vector<std::string>;

CommandLine parsed(const Arguments& arguments) {
  const auto result = parse_command_line(arguments);
  EXPECT_TRUE(result.line) << result.error;
  return result.line.value_or(CommandLine{});
}

// What a mistake prints to stderr; it must exit with 2 and leave stdout alone.
std::string mistake(const Arguments& arguments) {
  const auto result = parse_command_line(arguments);
  EXPECT_FALSE(result.line);
  EXPECT_EQ(result.exit_code, 2);
  EXPECT_EQ(result.out, "");
  return result.error;
}

TEST(CommandLine, EveryCommandIsKnown) {
  EXPECT_EQ(parsed({"init", "demo"}).command, Command::kInit);
  EXPECT_EQ(parsed({"up"}).command, Command::kUp);
  EXPECT_EQ(parsed({"down"}).command, Command::kDown);
  EXPECT_EQ(parsed({"kill", "us-west"}).name, "us-west");
  EXPECT_EQ(parsed({"start", "us-west"}).command, Command::kStart);
  EXPECT_EQ(parsed({"status"}).command, Command::kStatus);
  EXPECT_EQ(parsed({"mode", "sync"}).command, Command::kModeSync);
  EXPECT_EQ(parsed({"mode", "async"}).command, Command::kModeAsync);
  EXPECT_EQ(parsed({"verify"}).command, Command::kVerify);
  EXPECT_EQ(parsed({"doctor", "--server", "eu"}).command, Command::kDoctor);
  EXPECT_EQ(parsed({"doctor", "--region", "eu", "-o", "json"}).region, "eu");
  EXPECT_EQ(parsed({"model", "export", "a.safetensors"}).file, "a.safetensors");
  EXPECT_EQ(parsed({"explain", "E1001"}).name, "E1001");
  EXPECT_EQ(parsed({"version"}).command, Command::kVersion);
  EXPECT_EQ(parsed({"help", "exit-codes"}).command, Command::kExitCodes);
}

TEST(CommandLine, TheDirectoryFlagStandsAnywhere) {
  EXPECT_EQ(parsed({"status"}).directory, ".");
  EXPECT_EQ(parsed({"-C", "demo", "status"}).directory, "demo");
  EXPECT_EQ(parsed({"status", "-C", "demo"}).directory, "demo");
  EXPECT_EQ(parsed({"mode", "sync", "--directory", "demo"}).directory, "demo");
  EXPECT_EQ(parsed({"init", "demo"}).directory, "demo");
}

TEST(CommandLine, FlagsAreRead) {
  const CommandLine status = parsed({"status", "-o", "json", "--strict"});
  EXPECT_EQ(status.format, Format::kJson);
  EXPECT_TRUE(status.strict);
  const CommandLine verify =
      parsed({"verify", "--offline", "--acknowledgements", "a", "b", "--timeout", "90s"});
  EXPECT_TRUE(verify.offline);
  EXPECT_EQ(verify.acknowledgements.size(), 2U);
  EXPECT_EQ(verify.timeout, seconds(90));
  const CommandLine init =
      parsed({"init", "x", "--regions", "a,b", "--shards", "4", "--delay", "40ms"});
  EXPECT_EQ(init.init.regions, "a,b");
  EXPECT_EQ(init.init.shards, 4U);
  EXPECT_EQ(init.init.delay, "40ms");
}

TEST(CommandLine, WaitMayNameATime) {
  EXPECT_FALSE(parsed({"mode", "sync"}).wait);
  EXPECT_EQ(parsed({"mode", "sync", "--wait"}).wait, seconds(60));
  EXPECT_EQ(parsed({"mode", "async", "--wait=5s"}).wait, seconds(5));
  EXPECT_EQ(parsed({"mode", "sync", "--steps", "8"}).sync_steps, 8U);
}

TEST(CommandLine, UnknownCommandsNameTheNearest) {
  EXPECT_EQ(mistake({"statsu"}),
            "error: unknown command 'statsu'. Did you mean 'status'?\n  see: godwit --help\n");
  EXPECT_NE(mistake({"wroker", "list"}).find("unknown command 'wroker'."), std::string::npos);
  EXPECT_NE(mistake({"mode", "snyc"}).find("unknown command 'snyc'. Did you mean 'sync'?"),
            std::string::npos);
  EXPECT_NE(mistake({"-C", "demo", "upp"}).find("Did you mean 'up'?"), std::string::npos);
  EXPECT_NE(mistake({"help", "statsu"}).find("Did you mean 'status'?"), std::string::npos);
}

TEST(CommandLine, UnknownFlagsNameTheNearest) {
  EXPECT_NE(mistake({"status", "--stric"}).find("unknown flag '--stric'. Did you mean '--strict'?"),
            std::string::npos);
  EXPECT_NE(mistake({"status", "--directroy", "x"}).find("Did you mean '--directory'?"),
            std::string::npos);
}

TEST(CommandLine, WhatIsMissingOrTooMuchIsNamed) {
  EXPECT_NE(mistake({}).find("a command is missing: init, up, down"), std::string::npos);
  EXPECT_NE(mistake({"mode"}).find("a command is missing: sync, async"), std::string::npos);
  EXPECT_NE(mistake({"kill"}).find("NAME is required"), std::string::npos);
  EXPECT_NE(mistake({"down", "us-west"}).find("unexpected argument 'us-west'"), std::string::npos);
  EXPECT_NE(mistake({"verify", "--acknowledgements", "a"}).find("needs --offline"),
            std::string::npos);
}

TEST(CommandLine, BadValuesSayWhatIsRight) {
  EXPECT_NE(mistake({"verify", "--timeout", "30"}).find("write \"30ms\" or \"30s\""),
            std::string::npos);
  EXPECT_NE(mistake({"mode", "sync", "--wait=5"}).find("write \"5ms\" or \"5s\""),
            std::string::npos);
  EXPECT_NE(mistake({"status", "-o", "yaml"}).find("yaml"), std::string::npos);
  EXPECT_NE(mistake({"mode", "sync", "--steps", "0"}).find("--steps"), std::string::npos);
  EXPECT_NE(mistake({"init", "x", "--shards", "many"}).find("--shards"), std::string::npos);
}

TEST(CommandLine, HelpGoesToStdout) {
  for (const Arguments& arguments :
       {Arguments{"--help"}, Arguments{"help"}, Arguments{"help", "init"},
        Arguments{"init", "--help"}, Arguments{"mode", "sync", "--help"}}) {
    const auto result = parse_command_line(arguments);
    EXPECT_EQ(result.exit_code, 0);
    EXPECT_NE(result.out.find("Usage: godwit"), std::string::npos) << result.out << result.error;
    EXPECT_EQ(result.error, "");
  }
}

class Application : public testing::Test {
 protected:
  int run(const Arguments& arguments) { return cli::run(arguments, Console{out, error}); }
  std::ostringstream out;
  std::ostringstream error;
};

TEST_F(Application, ExplainsEveryCode) {
  EXPECT_EQ(run({"explain"}), 0);
  for (const Problem& problem : problem_catalogue()) {
    EXPECT_NE(out.str().find(problem.code), std::string::npos);
  }
  EXPECT_EQ(run({"explain", "e1001"}), 0);
  EXPECT_NE(out.str().find("cannot connect"), std::string::npos);
  EXPECT_EQ(run({"explain", "E0001"}), 4);
}

TEST_F(Application, ListsItsExitCodes) {
  EXPECT_EQ(run({"help", "exit-codes"}), 0);
  for (const char* code : {"   0", "   1", "   2", "   3", "   4", "   5", "   6", "   7", "   8",
                           "  10", "  11", "  70", " 130"}) {
    EXPECT_NE(out.str().find("\n" + std::string(code) + "   "), std::string::npos)
        << code << out.str();
  }
}

TEST_F(Application, WithoutAClusterItSaysHowToMakeOne) {
  EXPECT_EQ(run({"status", "-C", "/nowhere/at/all"}), 4);
  EXPECT_NE(error.str().find("godwit init /nowhere/at/all"), std::string::npos) << error.str();
  EXPECT_EQ(out.str(), "");
}

TEST_F(Application, TheVersionIsTheProjects) {
  EXPECT_EQ(run({"version"}), 0);
  EXPECT_EQ(run({"--version"}), 0);
  EXPECT_TRUE(out.str().starts_with("godwit "));
}

}  // namespace
}  // namespace godwit::cli
