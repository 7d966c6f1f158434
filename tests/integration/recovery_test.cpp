// Real servers and workers, killed with SIGKILL in rotation and started again. What workers were told is
// acknowledged is then looked for in the logs: everything must be there, and once.
#include <gtest/gtest.h>

#include <algorithm>
#include <boost/json.hpp>
#include <chrono>
#include <cstdlib>
#include <map>
#include <set>

#include "tests/history/checker.h"
#include "tests/integration/log_census.h"
#include "tests/support/local_cluster.h"

namespace godwit::integration {
namespace {

using support::eventually;
using support::LocalCluster;
using support::ShardView;
using Clock = std::chrono::steady_clock;

constexpr std::size_t kCyclesUnlessTold = 20;
constexpr std::size_t kSecondKilledEvery = 3;  // cycles
constexpr std::size_t kWorkerKilledEvery = 5;
constexpr auto kRoundsLimit = std::chrono::milliseconds(1000);  // a few windows
constexpr auto kRecoveryLimit = std::chrono::seconds(30);
constexpr auto kStartLimit = std::chrono::seconds(30);

std::size_t cycles() {
  const char* const told = std::getenv("GODWIT_TEST_CYCLES");
  return told == nullptr ? kCyclesUnlessTold : std::strtoul(told, nullptr, 10);
}

class Recovery : public ::testing::Test {
 protected:
  Recovery() : cluster_(plan(), [](ClusterConfig& config) { config.limits.log_retained_versions = 1U << 20; }) {}

  static cli::InitFlags plan() {
    cli::InitFlags plan;
    plan.regions = "3";
    plan.shards = 2;
    plan.window = "300ms";
    plan.block_parameters = 1024;
    return plan;
  }

  static void raise(std::vector<std::uint64_t>& base, const std::vector<std::uint64_t>& seen) {
    for (std::size_t shard = 0; shard < base.size(); ++shard) base[shard] = std::max(base[shard], seen[shard]);
  }

  // The highest versions that the servers show; silent ones do not count.
  std::vector<std::uint64_t> newest_versions() const {
    std::vector<std::uint64_t> newest(cluster_.config().run.shards);
    for (const std::string& region : cluster_.config().regions) {
      const std::vector<ShardView> shards = cluster_.shards(region);
      for (std::size_t shard = 0; shard < shards.size(); ++shard) {
        newest[shard] = std::max(newest[shard], shards[shard].version);
      }
    }
    return newest;
  }

  // Waits until `region` shows `more` versions above `base` on every shard.
  bool reaches(const std::string& region, const std::vector<std::uint64_t>& base, std::uint64_t more) const {
    return eventually(kRecoveryLimit, [&] {
      const std::vector<ShardView> shards = cluster_.shards(region);
      for (std::size_t shard = 0; shard < base.size(); ++shard) {
        if (shard >= shards.size() || shards[shard].version < base[shard] + more) return false;
      }
      return true;
    });
  }

  const std::string& region(std::size_t index) const {
    return cluster_.region(index % cluster_.config().regions.size());
  }

  // SIGKILL just after the region has acknowledged a push: mostly, no log names it yet.
  void kill_after_acknowledgement(const std::string& region, std::chrono::milliseconds patience) {
    const std::size_t before = cluster_.acknowledgements(region);
    // Without a leader there may be none any more; then what is acknowledged already waits for it.
    eventually(patience, [&] { return cluster_.acknowledgements(region) > before; }, std::chrono::milliseconds(1));
    cluster_.kill_server(region);
  }

  // Kills a server, now and then a second one while the first is away, and a worker. Starts them again and waits
  // until every shard has a version that nobody held before, and each of these regions' workers an
  // acknowledgement that it did not have. Adds to recovery_seconds_.
  void kill_and_recover(std::size_t cycle) {
    std::set<std::string> hit = {region(cycle)};
    std::vector<std::uint64_t> base = newest_versions();
    kill_after_acknowledgement(region(cycle), kRoundsLimit);
    if (cycle % kSecondKilledEvery == kSecondKilledEvery - 1) {
      kill_after_acknowledgement(region(cycle + 1), kRoundsLimit);
      hit.insert(region(cycle + 1));
    }
    const std::set<std::string> killed_servers = hit;
    const Clock::time_point killed = Clock::now();
    const bool also_worker = cycle % kWorkerKilledEvery == kWorkerKilledEvery - 1;
    if (also_worker) {
      cluster_.kill_worker(region(cycle + 2));
      hit.insert(region(cycle + 2));
    }
    std::map<std::string, std::size_t> acknowledged;
    for (const std::string& one : hit) acknowledged[one] = cluster_.acknowledgements(one);
    raise(base, newest_versions());
    for (const std::string& server : killed_servers) cluster_.start_server(server);
    if (also_worker) cluster_.start_worker(region(cycle + 2));

    for (const std::string& server : killed_servers) {
      ASSERT_TRUE(eventually(kRecoveryLimit, [&] { return !cluster_.shards(server).empty(); }))
          << server << " did not open its shards\n" << cluster_.logs();
      raise(base, newest_versions());  // it may hold what it had told nobody
    }
    for (const std::string& server : killed_servers) {
      ASSERT_TRUE(reaches(server, base, 1)) << "no new version at " << server << "\n" << cluster_.logs();
    }
    for (const std::string& one : hit) {
      ASSERT_TRUE(eventually(kRecoveryLimit, [&] { return cluster_.acknowledgements(one) > acknowledged[one]; }))
          << "no new acknowledgement in " << one << "\n" << cluster_.logs();
    }
    recovery_seconds_.push_back(std::chrono::duration<double>(Clock::now() - killed).count());
  }

  void expect_equal_hashes() const {
    for (std::uint32_t shard = 0; shard < cluster_.config().run.shards; ++shard) {
      const std::string target = "/api/v1/shards/" + std::to_string(shard) + "/hashes";
      const auto first = cluster_.get(cluster_.region(0), target);
      ASSERT_TRUE(first.has_value());
      EXPECT_FALSE(first->at("blocks").as_array().empty());
      for (const std::string& region : cluster_.config().regions) {
        const auto other = cluster_.get(region, target);
        ASSERT_TRUE(other.has_value()) << region;
        EXPECT_EQ(*first, *other) << "shard " << shard << " in " << region;
      }
    }
  }

  void start_training() {
    cluster_.start_servers();
    for (const std::string& region : cluster_.config().regions) cluster_.start_worker(region);
    ASSERT_TRUE(eventually(kStartLimit, [&] {
      return std::ranges::all_of(newest_versions(), [](std::uint64_t version) { return version >= 2; });
    })) << "the cluster does not train\n" << cluster_.logs();
  }

  // Workers stop, everything is replicated, servers stop.
  void come_to_rest() {
    cluster_.tell_workers_to_stop();
    for (const std::string& region : cluster_.config().regions) {
      EXPECT_EQ(cluster_.worker(region).wait(std::chrono::seconds(40)), 0) << region << "\n" << cluster_.logs();
    }
    ASSERT_TRUE(eventually(kRecoveryLimit, [&] { return cluster_.settled(); })) << "not settled\n" << cluster_.logs();
    expect_equal_hashes();
    for (const std::string& region : cluster_.config().regions) EXPECT_EQ(cluster_.stop_server(region), 0) << region;
  }

  std::vector<std::filesystem::path> acknowledgement_files() const {
    std::vector<std::filesystem::path> all;
    for (const std::string& region : cluster_.config().regions) {
      for (const auto& file : cluster_.acknowledgement_files(region)) all.push_back(file);
    }
    return all;
  }

  // Every server's log must name every acknowledged push once.
  void count_pushes() {
    std::vector<ShardPush> acknowledged;
    for (const auto& file : acknowledgement_files()) {
      for (const ShardPush& push : read_acknowledgements(file)) acknowledged.push_back(push);
    }
    acknowledged_ = acknowledged.size();
    std::optional<LogCensus> first;
    for (const std::string& region : cluster_.config().regions) {
      Result<LogCensus> census =
          take_census(cluster_.config().data_directory(region), cluster_.config().run.shards);
      ASSERT_TRUE(census.has_value()) << region << ": " << census.error().to_string();
      for (const ShardPush& push : acknowledged) missing_ += census->named.count(push) == 0 ? 1 : 0;
      for (const auto& [push, times] : census->named) twice_ += times > 1 ? 1 : 0;
      if (!first) first = std::move(*census);
      else EXPECT_EQ(first->named, census->named) << region << " names other pushes";
    }
    versions_ = first->heads;
  }

  void verify_with_the_program() const {
    std::vector<std::string> arguments = {"verify", "--offline", "-o", "json"};
    for (const auto& file : acknowledgement_files()) {
      arguments.insert(arguments.end(), {"--acknowledgements", file.string()});
    }
    const support::Output output = cluster_.godwit(arguments);
    EXPECT_EQ(output.exit_code, 0) << output.text;
    boost::json::error_code error;
    const boost::json::value report = boost::json::parse(output.text, error);
    ASSERT_FALSE(error) << output.text;
    EXPECT_TRUE(report.at("replicas_identical").as_bool());
    EXPECT_EQ(report.at("pushes_missing").to_number<std::size_t>(), 0U);
    EXPECT_EQ(report.at("pushes_twice").to_number<std::size_t>(), 0U);
    EXPECT_EQ(report.at("pushes_acknowledged").to_number<std::size_t>(), acknowledged_);
  }

  void judge_histories() const {
    history::Recording recording;
    for (const std::string& region : cluster_.config().regions) {
      ASSERT_EQ(recording.add_file(cluster_.history_file(region).string()), "");
    }
    const history::Report report = history::check(recording);
    std::printf("history: %s\n", history::summary(report).c_str());
    for (const history::Violation& violation : report.violations) ADD_FAILURE() << to_string(violation);
    EXPECT_TRUE(report.closed);
    EXPECT_GE(report.pushes_acknowledged, acknowledged_);
  }

  void print_summary() {
    std::sort(recovery_seconds_.begin(), recovery_seconds_.end());
    std::printf("recovery: cycles %zu  versions", recovery_seconds_.size());
    for (const Version head : versions_) std::printf(" %s", to_string(head).c_str());
    std::printf("  pushes acknowledged %zu, missing %zu, twice %zu  recovery median %.2f s, max %.2f s\n",
                acknowledged_, missing_, twice_, recovery_seconds_[recovery_seconds_.size() / 2],
                recovery_seconds_.back());
  }

  LocalCluster cluster_;
  std::vector<double> recovery_seconds_;
  std::size_t acknowledged_ = 0, missing_ = 0, twice_ = 0;
  std::vector<Version> versions_;
};

TEST_F(Recovery, NothingAcknowledgedIsLostOrNamedTwiceWhenProcessesAreKilled) {
  ASSERT_NO_FATAL_FAILURE(start_training());

  for (std::size_t cycle = 0; cycle < cycles(); ++cycle) {
    ASSERT_NO_FATAL_FAILURE(kill_and_recover(cycle)) << "cycle " << cycle;
  }

  ASSERT_NO_FATAL_FAILURE(come_to_rest());

  ASSERT_NO_FATAL_FAILURE(count_pushes());
  print_summary();
  EXPECT_GT(acknowledged_, recovery_seconds_.size());
  EXPECT_EQ(missing_, 0U);
  EXPECT_EQ(twice_, 0U);
  verify_with_the_program();
  judge_histories();
}

// The other regions go on within 15 s, an operator can move the lead by hand, but only to a region that is in
// sync, and what comes back follows and holds the same bytes.
TEST_F(Recovery, ARegionThatStaysAwayIsReplacedAndFollowsWhenItComesBack) {
  ASSERT_NO_FATAL_FAILURE(start_training());
  const std::size_t leader = cluster_.config().run.leaders[1].value();
  const std::string away = region(leader);
  ASSERT_NE(away, cluster_.config().control_server().region);
  kill_after_acknowledgement(away, kRoundsLimit);
  cluster_.kill_worker(away);
  const Clock::time_point killed = Clock::now();
  const std::vector<std::uint64_t> base = newest_versions();
  ASSERT_TRUE(reaches(region(leader + 1), base, 5)) << "nobody took over\n" << cluster_.logs();
  ASSERT_TRUE(reaches(region(leader + 2), base, 5)) << cluster_.logs();
  const double seconds = std::chrono::duration<double>(Clock::now() - killed).count();
  std::printf("failover: 5 new versions of every shard %.1f s after SIGKILL of a leader that stays away\n", seconds);
  EXPECT_LT(seconds, 15);
  ASSERT_TRUE(eventually(kRecoveryLimit, [&] {
    return cluster_.godwit({"promote", "1", away, "--timeout", "1s"}).exit_code == 5;
  })) << "who is away is in sync\n" << cluster_.logs();

  cluster_.start_server(away);
  cluster_.start_worker(away);
  ASSERT_TRUE(reaches(away, newest_versions(), 1)) << cluster_.logs();
  ASSERT_TRUE(eventually(kRecoveryLimit, [&] {
    return cluster_.godwit({"promote", "1", away}).exit_code == 0;
  })) << "it does not lead again\n" << cluster_.logs();
  ASSERT_TRUE(reaches(region(leader + 1), newest_versions(), 2)) << cluster_.logs();

  ASSERT_NO_FATAL_FAILURE(come_to_rest());
  for (const auto& file : acknowledgement_files()) acknowledged_ += read_acknowledgements(file).size();
  verify_with_the_program();
  judge_histories();
}

}  // namespace
}  // namespace godwit::integration
