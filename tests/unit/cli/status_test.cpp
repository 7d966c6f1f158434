// Commands that ask servers, against the real admin port with answers that the test sets.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <boost/json.hpp>
#include <fstream>
#include <sstream>

#include "server/cli/application.h"
#include "server/cli/cluster_view.h"
#include "server/cli/status_command.h"
#include "server/http/http_server.h"
#include "server/http/status_json.h"
#include "tests/unit/http/fake_service.h"
#include "tests/unit/storage/temp_directory.h"

namespace godwit::cli {
namespace {

using testing::HasSubstr;

// Two servers, "us-west" (control) and "eu", on this machine.
class StatusTest : public testing::Test {
 protected:
  struct Server {
    http::FakeService service;
    metrics::Registry registry{http::test_identity()};
    std::unique_ptr<http::HttpServer> port;
  };

  void SetUp() override {
    ClusterConfig config;
    config.name = "demo";
    config.control = "us-west";
    config.regions = {"us-west", "eu"};
    for (Server* server : {&us_west, &eu}) {
      http::HttpOptions options;
      options.token = "secret";
      auto started = http::HttpServer::start(options, server->service, server->registry);
      ASSERT_TRUE(started) << started.error().context;
      server->port = std::move(*started);
      const std::string name = server == &us_west ? "us-west" : "eu";
      const auto index = static_cast<std::uint32_t>(config.servers.size());
      // Nobody listens on the data port in this test.
      config.servers.push_back({name,
                                name,
                                RegionId(index),
                                {"127.0.0.1", static_cast<std::uint16_t>(index + 1)},
                                {"127.0.0.1", server->port->port()},
                                false});
    }
    config.run.leaders = {RegionId(0)};
    std::ofstream(folder() / "cluster.toml") << write_cluster_config(config);
    std::ofstream(folder() / "admin.token") << "secret\n";
    us_west.service.report = report("us-west", 12, true);
    eu.service.report = report("eu", 12, false);
  }
  static http::StatusReport report(const std::string& region, std::uint64_t version, bool leads) {
    http::StatusReport report = http::sample_status();
    report.server = report.region = region;
    report.version = "0.1.0";
    report.shards[0].shard = ShardId(0);
    report.shards[0].version = Version(version);
    report.shards[0].leads = leads;
    report.shards[0].leader_region = "us-west";
    report.shards[0].mode_epoch = ModeEpoch(3);
    report.links[0].region = region == "eu" ? "us-west" : "eu";
    return report;
  }
  const std::filesystem::path& folder() const { return temporary.path(); }
  int run(std::vector<std::string> arguments) {
    out.str("");
    error.str("");
    arguments.insert(arguments.end(), {"-C", folder().string()});
    return cli::run(arguments, Console{out, error});
  }
  boost::json::object json() const { return boost::json::parse(out.str()).as_object(); }

  TempDirectory temporary;
  Server us_west;
  Server eu;
  std::ostringstream out;
  std::ostringstream error;
};

TEST_F(StatusTest, AHealthyClusterIsOk) {
  EXPECT_EQ(run({"status", "--strict"}), 0) << out.str() << error.str();
  EXPECT_THAT(out.str(),
              HasSubstr("godwit demo · v0.1.0 · sync (mode epoch 3, 16 steps) · ack region"));
  EXPECT_THAT(out.str(), HasSubstr("OK\n"));
  EXPECT_THAT(out.str(), HasSubstr("us-west   0"));
  EXPECT_THAT(out.str(), HasSubstr("1 active"));
  EXPECT_EQ(error.str(), "");
}

TEST_F(StatusTest, JsonSaysTheSame) {
  EXPECT_EQ(run({"status", "-o", "json"}), 0);
  const auto all = json();
  EXPECT_EQ(all.at("schema").as_string(), "godwit.status/v1");
  EXPECT_EQ(all.at("health").as_string(), "ok");
  EXPECT_EQ(all.at("regions").as_array().size(), 2U);
  EXPECT_EQ(all.at("wan_sent_bytes").as_string(), "1000");
  EXPECT_EQ(all.at("mode").at("mode").as_string(), "sync");
  EXPECT_EQ(all.at("shards").as_array().at(0).at("leader_region").as_string(), "us-west");
}

TEST_F(StatusTest, ARegionBehindOrALinkDownIsDegraded) {
  eu.service.report = report("eu", 2, false);
  EXPECT_EQ(run({"status"}), 0);
  EXPECT_EQ(run({"status", "--strict"}), 11);
  EXPECT_THAT(out.str(), HasSubstr("10 ver"));
  EXPECT_THAT(out.str(), HasSubstr("GODWIT-E3104  eu is 10 versions behind"));
  eu.service.report = report("eu", 12, false);
  eu.service.report.links[0].up = false;
  EXPECT_EQ(run({"status", "--strict"}), 11);
  EXPECT_THAT(out.str(), HasSubstr("eu -> us-west the link is down"));
}

TEST_F(StatusTest, AServerThatIsDownOrNotReadyIsCritical) {
  eu.service.report.checks = {{"control", false, "us-west is unreachable"}};
  EXPECT_EQ(run({"status"}), 10);
  EXPECT_THAT(out.str(), HasSubstr("is not ready: control: us-west is unreachable"));
  eu.port.reset();
  EXPECT_EQ(run({"status"}), 10);
  EXPECT_THAT(out.str(), HasSubstr("godwit start eu"));
  EXPECT_EQ(run({"status", "-o", "json"}), 10);
  EXPECT_EQ(json().at("problems").as_array().at(0).at("code").as_string(), "GODWIT-E3101");
}

TEST_F(StatusTest, WhenNothingAnswersNothingIsClaimed) {
  us_west.port.reset();
  eu.port.reset();
  EXPECT_EQ(run({"status"}), 3);
  EXPECT_EQ(out.str(), "");
  EXPECT_THAT(error.str(), HasSubstr("GODWIT-E1001"));
  EXPECT_THAT(error.str(), HasSubstr("godwit up"));
}

TEST_F(StatusTest, TheModeIsAskedOfTheControlHost) {
  us_west.service.report.shards[0].mode_epoch = ModeEpoch(4);
  eu.service.report.shards[0].mode_epoch = ModeEpoch(4);
  EXPECT_EQ(run({"mode", "sync", "--steps", "8", "--wait"}), 0) << error.str();
  EXPECT_EQ(out.str(), "mode sync, 8 steps (mode epoch 4), on all shards\n");
  ASSERT_TRUE(us_west.service.asked);
  EXPECT_EQ(us_west.service.asked->sync_steps, 8U);
  EXPECT_FALSE(eu.service.asked);
  EXPECT_EQ(run({"mode", "async", "-o", "json"}), 0);
  EXPECT_EQ(json().at("mode").as_string(), "async");
}

TEST_F(StatusTest, AModeThatShardsDoNotShowTimesOut) {
  EXPECT_EQ(run({"mode", "sync", "--wait=1ms"}), 7);
  EXPECT_THAT(error.str(), HasSubstr("do not show mode epoch 4"));
}

TEST_F(StatusTest, WithoutTheTokenNothingIsChanged) {
  std::ofstream(folder() / "admin.token") << "wrong\n";
  EXPECT_EQ(run({"mode", "sync"}), 6);
  EXPECT_THAT(error.str(), HasSubstr("GODWIT-E1101"));
  EXPECT_FALSE(us_west.service.asked);
}

TEST_F(StatusTest, EqualReplicasVerify) {
  us_west.service.shard = eu.service.shard = ShardId(0);
  EXPECT_EQ(run({"verify"}), 0) << error.str();
  EXPECT_THAT(out.str(), HasSubstr("identical\n"));
  EXPECT_EQ(run({"verify", "-o", "json"}), 0);
  EXPECT_TRUE(json().at("replicas_identical").as_bool());
  EXPECT_EQ(json().at("shards").as_array().at(0).at("version").as_string(), "12");
}

TEST_F(StatusTest, ADifferentBlockIsNamed) {
  us_west.service.shard = eu.service.shard = ShardId(0);
  eu.service.block_hash = Hash(2);
  EXPECT_EQ(run({"verify"}), 1);
  EXPECT_THAT(out.str(),
              HasSubstr("us-west and eu differ in block 0: 0000000000000001 and 0000000000000002"));
  EXPECT_THAT(error.str(), HasSubstr("GODWIT-E3201"));
  EXPECT_EQ(run({"verify", "-o", "json"}), 1);
  EXPECT_FALSE(json().at("replicas_identical").as_bool());
}

TEST_F(StatusTest, DifferentLogsAreNamed) {
  us_west.service.shard = eu.service.shard = ShardId(0);
  eu.service.entry_hash = Hash(0xdef);
  EXPECT_EQ(run({"verify"}), 1);
  EXPECT_THAT(out.str(), HasSubstr("the log: entry 0000000000000abc and 0000000000000def"));
}

TEST_F(StatusTest, AReplicaThatNeverArrivesTimesOut) {
  us_west.service.shard = ShardId(0);
  eu.service.shard = ShardId(7);  // answers 404 for shard 0
  EXPECT_EQ(run({"verify", "--timeout", "1ms"}), 7);
  EXPECT_THAT(error.str(), HasSubstr("eu does not have version 12 of shard 0"));
}

TEST_F(StatusTest, TheModelIsExportedWhole) {
  us_west.service.set_model(Error{Errc::kUnavailable, "no model yet"});
  Bytes model(3'000'001);
  for (std::size_t i = 0; i < model.size(); ++i) model[i] = static_cast<std::byte>(i % 253);
  eu.service.set_model(share(model));
  const auto file = folder() / "model.safetensors";
  EXPECT_EQ(run({"model", "export", file.string()}), 0) << error.str();
  std::ifstream in(file, std::ios::binary);
  const std::string read((std::istreambuf_iterator<char>(in)), {});
  EXPECT_TRUE(read == text(model));
  EXPECT_FALSE(std::filesystem::exists(folder() / "model.safetensors.partial"));
}

TEST_F(StatusTest, AnExportThatFailsLeavesNoFile) {
  for (Server* server : {&us_west, &eu})
    server->service.set_model(Error{Errc::kUnavailable, "no model yet"});
  const auto file = folder() / "model.safetensors";
  EXPECT_EQ(run({"model", "export", file.string()}), 3);
  EXPECT_THAT(error.str(), HasSubstr("no model yet"));
  EXPECT_FALSE(std::filesystem::exists(file));
  eu.service.set_model(share(Bytes(10)));
  EXPECT_EQ(run({"model", "export", (folder() / "no" / "such" / "folder").string()}), 1);
}

TEST(ClusterView, RefusesWhatIsNoStatus) {
  for (const char* text : {"", "{}", "[]", "<html>", R"({"schema":"godwit.status/v2"})"}) {
    EXPECT_FALSE(parse_server_view(text)) << text;
  }
  EXPECT_TRUE(parse_server_view(http::to_json(http::sample_status())));
}

}  // namespace
}  // namespace godwit::cli
