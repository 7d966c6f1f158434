#include "shared/metrics/registry.h"

#include <gtest/gtest.h>

#include <regex>
#include <set>
#include <sstream>
#include <thread>
#include <vector>

namespace godwit::metrics {
namespace {

ProcessIdentity identity() { return {"run-a", "us-west", "0.1.0", "abc", "gcc", "1"}; }

// The value of a series, as text; "" when it is not there.
std::string value_of(const std::string& exposed, const std::string& series) {
  std::istringstream in(exposed);
  for (std::string line; std::getline(in, line);) {
    if (line.starts_with(series + " ")) return line.substr(series.size() + 1);
  }
  return "";
}

// Calls every function once.
void touch_all(Registry& registry) {
  registry.push_request(ShardId(1), PushResult::kApplied);
  registry.push_bytes(ShardId(1), "fp32", PayloadStage::kWire, 100);
  registry.push_staleness(1.5);
  registry.pull_request(ShardId(0), PullResult::kNotModified);
  registry.update_clipped("us-west");
  registry.update_nonfinite("us-west");
  registry.round(RoundResult::kPartial);
  registry.codec_bytes("int8+zstd", Direction::kEncode, 4000, 900);
  registry.log_sync(milliseconds(3));
  registry.link_rtt("eu", milliseconds(80));
  registry.link_reconnect("eu", "timeout");
  registry.http_request("/api/v1/status", "GET", 200, milliseconds(1));
  registry.auth_failure("token");
  registry.error("GODWIT-E1001");
  registry.set_ready("store", false);
  registry.set_workers("active", 3);
  registry.set_shard(ShardId(1), Version(7), 1000, true);
  registry.set_region_lag("eu", 2);
  registry.set_link_up("eu", true);
  registry.set_link_bytes("eu", "delta", 500, 600);
}

TEST(MetricsRegistry, FunctionsReachTheirSeries) {
  Registry registry(identity());
  touch_all(registry);
  const std::string text = registry.expose();
  const auto expect = [&](const std::string& series, const std::string& value) {
    EXPECT_EQ(value_of(text, series), value) << series << "\n" << text;
  };
  expect(R"(godwit_build_info{compiler="gcc",revision="abc",version="0.1.0",wire_version="1"})",
         "1");
  expect(R"(godwit_push_requests_total{result="applied",shard="1"})", "1");
  expect(R"(godwit_push_bytes_total{codec="fp32",shard="1",stage="wire"})", "100");
  expect(R"(godwit_push_staleness_rounds_count{region="us-west",run="run-a"})", "1");
  expect(R"(godwit_pull_requests_total{result="not_modified",shard="0"})", "1");
  expect(R"(godwit_rounds_total{result="partial",run="run-a"})", "1");
  expect(R"(godwit_codec_output_bytes_total{codec="int8+zstd",direction="encode"})", "900");
  expect("godwit_wal_fsync_duration_seconds_count", "1");
  expect(R"(godwit_ready{check="store"})", "0");
  expect(R"(godwit_workers{region="us-west",run="run-a",state="active"})", "3");
  expect(R"(godwit_shard_version{run="run-a",shard="1"})", "7");
  expect(R"(godwit_shard_role{role="follower",shard="1"})", "0");
  expect(R"(godwit_link_sent_bytes_total{class="delta",dst="eu",src="us-west"})", "500");
  expect(R"(godwit_http_requests_total{code="200",method="GET",route="/api/v1/status"})", "1");
  expect(R"(godwit_errors_total{code="GODWIT-E1001"})", "1");
}

TEST(MetricsRegistry, TotalsNeverGoDown) {
  Registry registry(identity());
  registry.set_link_bytes("eu", "delta", 500, 600);
  registry.set_link_bytes("eu", "delta", 700, 100);
  const std::string text = registry.expose();
  EXPECT_EQ(value_of(text, R"(godwit_link_sent_bytes_total{class="delta",dst="eu",src="us-west"})"),
            "700");
  EXPECT_EQ(
      value_of(text, R"(godwit_link_received_bytes_total{class="delta",dst="eu",src="us-west"})"),
      "600");
}

TEST(MetricsRegistry, ProcessNumbersAreRead) {
  Registry registry(identity());
  const std::string text = registry.expose();
  for (const char* series : {"process_resident_memory_bytes", "process_open_fds", "process_max_fds",
                             "process_threads", "godwit_process_start_time_seconds"}) {
    const std::string value = value_of(text, series);
    ASSERT_NE(value, "") << series;
    EXPECT_GE(std::stod(value), 1) << series;
  }
}

// Every family says its type and help once, counters end in _total, and every line is of the text
// format.
TEST(MetricsRegistry, TheTextIsWellFormed) {
  Registry registry(identity());
  touch_all(registry);
  std::istringstream in(registry.expose());
  const std::regex sample(
      R"re([a-z_]+(\{[a-z_]+="[^"]*"(,[a-z_]+="[^"]*")*\})? [-+0-9.eInfNa]+)re");
  std::set<std::string> families;
  for (std::string line; std::getline(in, line);) {
    if (line.starts_with("# TYPE ")) {
      std::istringstream words(line.substr(7));
      std::string name;
      std::string type;
      words >> name >> type;
      EXPECT_TRUE(families.insert(name).second) << name;
      EXPECT_TRUE(name.starts_with("godwit_") || name.starts_with("process_")) << name;
      EXPECT_EQ(type == "counter", name.ends_with("_total")) << line;
    } else if (!line.starts_with("# HELP ")) {
      EXPECT_TRUE(std::regex_match(line, sample)) << line;
    }
  }
  EXPECT_GT(families.size(), 28U);
}

TEST(MetricsRegistry, ThreadsCountTogether) {
  Registry registry(identity());
  std::vector<std::thread> threads;
  for (int i = 0; i < 4; ++i) {
    threads.emplace_back([&registry] {
      for (int n = 0; n < 1000; ++n) registry.push_request(ShardId(0), PushResult::kApplied);
    });
  }
  for (auto& thread : threads) thread.join();
  EXPECT_EQ(
      value_of(registry.expose(), R"(godwit_push_requests_total{result="applied",shard="0"})"),
      "4000");
}

}  // namespace
}  // namespace godwit::metrics
