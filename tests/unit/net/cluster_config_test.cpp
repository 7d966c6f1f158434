// Every message that cluster.toml can earn, word for word where it matters: place, key, fault,
// example.
#include "shared/net/cluster_config.h"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <array>
#include <fstream>

#include "shared/net/nearest_name.h"
#include "shared/net/units.h"
#include "tests/unit/storage/temp_directory.h"

namespace godwit {
namespace {

const std::string kCluster = R"([cluster]
name = "demo"
control = "us-west"
[[server]]
name = "us-west"
region = "us-west"
data = "127.0.0.1:7700"
admin = "127.0.0.1:7780"
[[server]]
name = "eu"
region = "eu-central"
data = "127.0.0.1:7701"
admin = "127.0.0.1:7781"
)";

std::string error_of(const std::string& text) {
  const auto config = parse_cluster_config(text, "cluster.toml");
  return config ? "accepted" : config.error().context;
}

// The message when `line` stands in `section` of a file that is right otherwise.
std::string error_with(const std::string& section, const std::string& line) {
  return error_of(kCluster + "[" + section + "]\n" + line + "\n");
}

std::string replaced(std::string text, const std::string& from, const std::string& to) {
  const std::size_t at = text.find(from);
  GODWIT_CHECK(at != std::string::npos, "the test replaces something");
  return text.replace(at, from.size(), to);
}

TEST(ClusterConfig, ReadsServersRegionsAndDefaults) {
  const auto config = parse_cluster_config(kCluster, "cluster.toml");
  ASSERT_TRUE(config) << config.error().context;
  EXPECT_EQ(config->name, "demo");
  EXPECT_EQ(config->regions, (std::vector<std::string>{"us-west", "eu-central"}));
  EXPECT_EQ(config->servers[1].region_id, RegionId(1));
  EXPECT_EQ(config->control_server().data, (HostPort{"127.0.0.1", 7700}));
  EXPECT_EQ(config->run.shards, 1U);
  EXPECT_EQ(config->run.leaders,
            std::vector{RegionId(1)});  // the region after the control server's
  EXPECT_EQ(config->run.window_max, milliseconds(1500));
  EXPECT_EQ(config->link.bits_per_second, 0U);
}

TEST(ClusterConfig, ReadsEverySection) {
  const auto config = parse_cluster_config(kCluster + R"(
[run]
shards = 3
leaders = ["eu-central", "us-west", "eu-central"]
ack = "committed"
lan_codec = "bf16"
contribution_codec = "fp32"
update_codec = "bf16+zstd"
window_max = "1.5s"
sync_steps = 4
[link]
delay = "40ms"
rate = "200Mbit/s"
[limits]
push_staging_bytes = "64MiB"
)",
                                           "cluster.toml");
  ASSERT_TRUE(config) << config.error().context;
  EXPECT_EQ(config->run.leaders, (std::vector{RegionId(1), RegionId(0), RegionId(1)}));
  EXPECT_EQ(config->run.ack, Acknowledgement::kCommitted);
  EXPECT_EQ(config->run.update_codec, (CodecSpec{CodecId::kBf16, true}));
  EXPECT_EQ(config->link.delay, milliseconds(40));
  EXPECT_EQ(config->link.bits_per_second, 200'000'000U);
  EXPECT_EQ(config->limits.push_staging_bytes, 64U << 20);
}

TEST(ClusterConfig, WhatIsWrittenReadsBackEqual) {
  auto config = parse_cluster_config(kCluster, "cluster.toml");
  ASSERT_TRUE(config);
  config->run.shards = 2;
  config->run.leaders = default_leaders(*config, 2);
  config->run.window_max = milliseconds(1234);
  config->run.nesterov_momentum = 0.85;
  config->link = {milliseconds(40), 200'000'000};
  config->limits.retry_after = milliseconds(70);
  config->servers[1].admin = {"::1", 9000};
  const std::string text = write_cluster_config(*config);
  const auto again = parse_cluster_config(text, "cluster.toml");
  ASSERT_TRUE(again) << again.error().context << "\n" << text;
  EXPECT_EQ(*again, *config) << text;
}

TEST(ClusterConfig, SyntaxErrorsNameLineAndColumn) {
  EXPECT_TRUE(error_of("[cluster]\nname = \n").starts_with("cluster.toml:2:8: not TOML: "))
      << error_of("[cluster]\nname = \n");
}

TEST(ClusterConfig, NoSyntaxErrorEndsTheProcess) {
  for (const std::string line : {"[=run]", "[run] \xD1\x9D", "[run]\nshards\xC3\xA9 = 1", "[", "[[", "a.", "\xFF"})
    EXPECT_NE(error_of(kCluster + line).find("not TOML"), std::string::npos) << line;
}

TEST(ClusterConfig, CommentsAreInAnyLanguage) {
  EXPECT_EQ(error_of("\xEF\xBB\xBF# gr\xC3\xBC\xC3\x9F" "e\n" + kCluster), "accepted");
}

TEST(ClusterConfig, FractionsReadBackEqual) {
  const auto config =
      parse_cluster_config(kCluster + "[run]\nsgd_learning_rate = 0.1234567\n", "cluster.toml");
  ASSERT_TRUE(config);
  EXPECT_EQ(parse_cluster_config(write_cluster_config(*config), "")->run.sgd_learning_rate, 0.1234567);
}

TEST(ClusterConfig, AnUnknownKeyNamesTheNearestOne) {
  EXPECT_EQ(error_with("run", "windw_max = \"1s\""),
            "cluster.toml:15:1: run.windw_max: unknown key; did you mean \"window_max\"?");
  EXPECT_EQ(error_with("lnk", ""), "cluster.toml:14:2: lnk: unknown key; did you mean \"link\"?");
  EXPECT_EQ(error_with("link", "colour = 1"),
            "cluster.toml:15:1: link.colour: unknown key; known are delay, rate");
}

TEST(ClusterConfig, AMisspelledKeyIsNotAlsoMissing) {
  EXPECT_EQ(error_of(replaced(kCluster, "name = \"demo\"", "nmae = \"demo\"")),
            "cluster.toml:2:1: cluster.nmae: unknown key; did you mean \"name\"?");
}

TEST(ClusterConfig, BareNumbersAreRefusedWithTheFix) {
  EXPECT_EQ(error_with("run", "window_max = 1500"),
            "cluster.toml:15:14: run.window_max: \"1500\": no unit: write \"1500ms\" or \"1500s\"; "
            "a duration is a "
            "number and a unit (h, min, s, ms, us, ns); for example window_max = \"1500ms\"");
  EXPECT_EQ(error_with("link", "rate = 200"),
            "cluster.toml:15:8: link.rate: \"200\": no unit: write \"200Mbit/s\" or \"200Gbit/s\"; "
            "a rate is a number "
            "and a unit (Gbit/s, Mbit/s, kbit/s, bit/s); for example rate = \"200Mbit/s\"");
  EXPECT_NE(error_with("limits", "pull_reply_bytes = 1048576")
                .find("write \"1048576KiB\" or \"1048576MiB\""),
            std::string::npos);
}

TEST(ClusterConfig, UnitsAndRangesAreChecked) {
  EXPECT_EQ(error_with("run", "grace = \"3 parsec\""),
            "cluster.toml:15:9: run.grace: \"3 parsec\": unknown unit \" parsec\"; a duration is a "
            "number and a unit "
            "(h, min, s, ms, us, ns); for example grace = \"3s\"");
  EXPECT_EQ(
      error_with("run", "lease = \"1ms\""),
      "cluster.toml:15:9: run.lease: \"1ms\" is not in 100ms .. 1h; for example lease = \"4s\"");
  EXPECT_EQ(error_with("run", "shards = 0"),
            "cluster.toml:15:10: run.shards: 0 is not in 1 .. 4096; for example shards = 1");
  EXPECT_EQ(error_with("run", "nesterov_momentum = 1.5"),
            "cluster.toml:15:21: run.nesterov_momentum: 1.5 is not in 0.0 .. 0.999; for example "
            "nesterov_momentum = 0.9");
  EXPECT_EQ(error_with("run", "window_min = \"2s\""),
            "cluster.toml:15:14: run.window_min: is longer than window_max, \"1500ms\"; for "
            "example window_min = \"1500ms\"");
  EXPECT_EQ(error_with("limits", "entry_cache_bytes = \"1KiB\""),
            "cluster.toml:15:21: limits.entry_cache_bytes: \"1KiB\" is less than 1MiB; for example "
            "entry_cache_bytes = \"64MiB\"");
}

TEST(ClusterConfig, WrongTypesSayWhatIsWanted) {
  EXPECT_EQ(
      error_with("run", "shards = \"2\""),
      "cluster.toml:15:10: run.shards: needs a whole number, not a string; for example shards = 1");
  EXPECT_EQ(error_with("run", "ack = true"),
            "cluster.toml:15:7: run.ack: needs a string, not true or false; for example ack = "
            "\"region\"");
  EXPECT_EQ(error_of("link = 3\n" + kCluster),
            "cluster.toml:1:8: link: needs a table: write [link]");
  EXPECT_NE(error_of(replaced(kCluster, "\"127.0.0.1:7700\"", "7700"))
                .find("server.data: needs a string, not a number"),
            std::string::npos);
}

TEST(ClusterConfig, MissingKeysAndServers) {
  EXPECT_EQ(error_of("[cluster]\nname = \"demo\"\ncontrol = \"us-west\"\n"),
            "cluster.toml: server: no servers: write one [[server]] for each region, with name, "
            "region, data and admin");
  EXPECT_EQ(error_of(replaced(kCluster, "data = \"127.0.0.1:7701\"\n", "")),
            "cluster.toml:9:1: server.data: missing; for example data = \"127.0.0.1:7700\"");
}

TEST(ClusterConfig, NamesAreCheckedAndUnique) {
  EXPECT_NE(error_of(replaced(kCluster, "\"eu\"", "\"../eu\"")).find("letters, digits, - or _"),
            std::string::npos);
  EXPECT_NE(error_of(replaced(kCluster, "\"eu\"", "\"ca\"")).find("is taken"), std::string::npos);
  EXPECT_EQ(error_of(replaced(kCluster, "\"eu\"", "\"us-west\"")),
            "cluster.toml:10:8: server.name: \"us-west\" is the name of another server; for "
            "example name = \"us-west-2\"");
  EXPECT_EQ(error_of(replaced(kCluster, "\"eu-central\"", "\"us-west\"")),
            "cluster.toml:11:10: server.region: \"us-west\" has the server \"us-west\" already; "
            "for now a region has "
            "exactly one; for example region = \"us-west-2\"");
  EXPECT_EQ(error_of(replaced(kCluster, "control = \"us-west\"", "control = \"us-wset\"")),
            "cluster.toml:3:11: cluster.control: no [[server]] has the name \"us-wset\"; did you "
            "mean \"us-west\"?; "
            "for example control = \"us-west\"");
}

TEST(ClusterConfig, AddressesAreCheckedAndApart) {
  for (const char* host : {"a\nb", "a\x7F", "\xC3\xA9", "a b", "a?"})
    EXPECT_FALSE(parse_host_port(std::string(host) + ":80")) << host;
  EXPECT_NE(error_of(replaced(kCluster, "127.0.0.1:7701", "127.0.0.1")).find("no port"),
            std::string::npos);
  EXPECT_NE(error_of(replaced(kCluster, "127.0.0.1:7701", "127.0.0.1:99999")).find("1 to 65535"),
            std::string::npos);
  EXPECT_NE(error_of(replaced(kCluster, "127.0.0.1:7701", "::1:7701")).find("brackets"),
            std::string::npos);
  EXPECT_NE(error_of(replaced(kCluster, "127.0.0.1:7701", "127.0.0.1:7780"))
                .find("is an address of \"us-west\""),
            std::string::npos);
  const std::string open =
      replaced(kCluster, "admin = \"127.0.0.1:7781\"", "admin = \"0.0.0.0:7781\"");
  EXPECT_NE(error_of(open).find("add admin_beyond_loopback = true"), std::string::npos);
  EXPECT_EQ(error_of(open + "admin_beyond_loopback = true\n"), "accepted");
}

TEST(ClusterConfig, LeadersAndCodecsAreChecked) {
  EXPECT_EQ(error_with("run", "shards = 2\nleaders = [\"us-west\"]"),
            "cluster.toml:16:11: run.leaders: names 1 regions for 2 shards; for example leaders = "
            "[\"us-west\", \"eu-central\"]");
  EXPECT_EQ(error_with("run", "leaders = [\"eu-centarl\"]"),
            "cluster.toml:15:11: run.leaders: \"eu-centarl\" is no region of a [[server]]; did you "
            "mean \"eu-central\"?; "
            "for example leaders = [\"us-west\"]");
  EXPECT_NE(error_with("run", "lan_codec = \"int8\"").find("fp32 or bf16"), std::string::npos);
  EXPECT_NE(error_with("run", "update_codec = \"int4\"").find("int8"), std::string::npos);
  EXPECT_NE(error_with("run", "ack = \"maybe\"").find("memory, region, committed or replicated"),
            std::string::npos);
}

TEST(ClusterConfig, SeveralFaultsReportTheFirstInTheFile) {
  const std::string text = error_with("run", "ack = \"maybe\"\nshards = 0");
  EXPECT_TRUE(text.starts_with("cluster.toml:15:7: run.ack:")) << text;
  EXPECT_TRUE(text.ends_with("(and 1 more)")) << text;
}

TEST(ClusterConfig, AMissingFileSaysHowToMakeOne) {
  const TempDirectory directory;
  const auto config = load_cluster_config(directory.path() / "cluster.toml");
  ASSERT_FALSE(config);
  EXPECT_EQ(config.error().code, Errc::kNotFound);
  EXPECT_NE(config.error().context.find("godwit init"), std::string::npos);
}

TEST(ClusterConfig, PathsLieBesideTheFile) {
  const TempDirectory directory;
  std::ofstream(directory.path() / "cluster.toml") << kCluster;
  const auto config = load_cluster_config(directory.path() / "cluster.toml");
  ASSERT_TRUE(config);
  EXPECT_EQ(config->pid_file("eu"), directory.path() / "run" / "eu.pid");
  EXPECT_EQ(config->certificate_file(worker_certificate("eu-central", "worker-0")),
            directory.path() / "certificates" / "eu-central.worker-0.crt");
}

TEST(Units, Parse) {
  EXPECT_EQ(*parse_duration("1.5s"), milliseconds(1500));
  EXPECT_EQ(*parse_duration("80us"), std::chrono::microseconds(80));
  EXPECT_EQ(*parse_bytes("1.5KiB"), 1536U);
  EXPECT_EQ(*parse_rate("0.2Gbit/s"), 200'000'000U);
  for (const char* bad :
       {"", "ms", "-1s", "1.s", "1e3s", "99999999999999999999s", "9999999999h", "1s ", "1S"}) {
    EXPECT_FALSE(parse_duration(bad)) << bad;
  }
}

RC_GTEST_PROP(Units, FormattedValuesParseToThemselves, (std::uint64_t value)) {
  RC_ASSERT(*parse_bytes(format_bytes(value)) == value);
  RC_ASSERT(*parse_rate(format_rate(value)) == value);
  const Duration duration(static_cast<std::int64_t>(value >> 1U));
  RC_ASSERT(*parse_duration(format_duration(duration)) == duration);
}

TEST(NearestName, FindsSwapsAndLeavesStrangersAlone) {
  const std::array<std::string, 3> known = {"worker", "status", "mode"};
  EXPECT_EQ(nearest_name("wroker", known), "worker");
  EXPECT_EQ(nearest_name("statu", known), "status");
  EXPECT_EQ(nearest_name("banana", known), "");
  EXPECT_EQ(nearest_name(std::string(100'000, 'a'), known), "");
}

}  // namespace
}  // namespace godwit
