// The clocks of all machines are set back a day and forward again while the run goes on, and processes start under
// each. TLS looks at the dates of certificates, which here are wide enough; nothing else may notice.
#include <gtest/gtest.h>

#include <cstdlib>
#include <fstream>

#include "server/cli/admin_client.h"
#include "shared/net/certificates.h"
#include "tests/support/local_cluster.h"

namespace godwit::integration {
namespace {

using std::chrono::hours;
using std::chrono::system_clock;
using support::eventually;

constexpr auto kLimit = std::chrono::seconds(30);

class Clocks : public ::testing::Test {
 protected:
  Clocks() : cluster_(plan()), clock_file_(cluster_.folder() / "clock") {
    certify(-72, 72);
    set_clocks(0);
    // What is started from here on sees the clock in the file; steady clocks are left alone.
    ::setenv("LD_PRELOAD", GODWIT_FAKETIME_LIBRARY, 1);
    ::setenv("FAKETIME_TIMESTAMP_FILE", clock_file_.c_str(), 1);
    ::setenv("FAKETIME_CACHE_DURATION", "1", 1);
    ::setenv("DONT_FAKE_MONOTONIC", "1", 1);
    ::setenv("FAKETIME_DONT_FAKE_MONOTONIC", "1", 1);
  }
  ~Clocks() override { believe_the_clock(); }

  static cli::InitFlags plan() {
    cli::InitFlags plan;
    plan.regions = "home,away";
    plan.window = "300ms";
    plan.block_parameters = 1024;
    return plan;
  }
  static void believe_the_clock() { ::unsetenv("LD_PRELOAD"); }

  // The cluster's certificates anew, valid from and to so many hours from now.
  void certify(int from, int to) {
    const ClusterConfig& config = cluster_.config();
    const net::Validity validity{system_clock::now() + hours(from), system_clock::now() + hours(to)};
    const net::CertifiedKey authority = net::create_authority(config.name, validity).value();
    std::ofstream(config.authority_file()) << authority.certificate_pem;
    for (const std::string& region : config.regions) {
      const std::pair<std::string, net::Identity> holders[] = {
          {region, {config.name, region, net::Role::kServer, region}},
          {worker_certificate(region, "worker-0"), {config.name, region, net::Role::kWorker, "worker-0"}}};
      for (const auto& [holder, identity] : holders) {
        const net::CertifiedKey own = net::issue_certificate(authority, identity, validity).value();
        std::ofstream(config.certificate_file(holder)) << own.certificate_pem;
        std::ofstream(config.key_file(holder)) << own.private_key_pem;
      }
    }
  }

  void set_clocks(int hours_off) {
    std::ofstream(clock_file_) << std::showpos << hours_off << "h" << std::endl;
    hours_off_ = hours_off;
  }
  // Whether that server's clock shows what was set; its Date header tells.
  bool sees_the_clock(const std::string& region) const {
    const cli::AdminClient client(cluster_.config().find_server(region)->admin, "");
    const auto answer = client.get("/livez", seconds(5));
    if (!answer || !answer->date) return false;
    const auto off = *answer->date - (system_clock::now() + hours(hours_off_));
    return off < hours(1) && off > hours(-1);
  }
  // Two more versions of every shard in both regions, and an acknowledgement for each worker.
  void expect_training() {
    for (const std::string& region : cluster_.config().regions) {
      ASSERT_TRUE(eventually(kLimit, [&] { return sees_the_clock(region); })) << region << "\n" << cluster_.logs();
    }
    for (const std::string& region : cluster_.config().regions) {
      const std::size_t acknowledged = cluster_.acknowledgements(region);
      std::vector<support::ShardView> before;
      ASSERT_TRUE(eventually(kLimit, [&] {
        const std::vector<support::ShardView> now = cluster_.shards(region);
        if (now.empty()) return false;
        if (before.empty()) before = now;
        return now[0].version >= before[0].version + 2 && now[1].version >= before[1].version + 2 &&
               cluster_.acknowledgements(region) > acknowledged;
      })) << region << " stands still, clocks " << hours_off_ << " hours off\n" << cluster_.logs();
    }
  }

  support::LocalCluster cluster_;
  const std::filesystem::path clock_file_;
  int hours_off_ = 0;
};

TEST_F(Clocks, SetBackOrForwardADayNothingIsLostAndNobodyWaits) {
  if (!std::filesystem::exists(GODWIT_FAKETIME_LIBRARY)) GTEST_SKIP() << "libfaketime is not installed";
  cluster_.start_servers();
  for (const std::string& region : cluster_.config().regions) cluster_.start_worker(region);
  for (const int hours_off : {0, -24, 24, 0}) {
    set_clocks(hours_off);
    ASSERT_NO_FATAL_FAILURE(expect_training());
    EXPECT_EQ(cluster_.logs().find("deposed"), std::string::npos) << "a lease ended\n" << cluster_.logs();
  }
  // A worker and a server that start anew, after ones that started a day later.
  set_clocks(-24);
  ASSERT_NO_FATAL_FAILURE(expect_training());
  cluster_.kill_worker("home");
  cluster_.start_worker("home");
  cluster_.kill_server("away");
  cluster_.start_server("away");
  ASSERT_NO_FATAL_FAILURE(expect_training());
  believe_the_clock();
  cluster_.tell_workers_to_stop();
  std::vector<std::string> verify = {"verify", "--offline"};
  for (const std::string& region : cluster_.config().regions) {
    EXPECT_EQ(cluster_.worker(region).wait(kLimit), 0) << region << "\n" << cluster_.logs();
    for (const auto& file : cluster_.acknowledgement_files(region)) {
      verify.insert(verify.end(), {"--acknowledgements", file.string()});
    }
  }
  for (const std::string& region : cluster_.config().regions) EXPECT_EQ(cluster_.stop_server(region), 0) << region;
  const support::Output output = cluster_.godwit(verify);
  EXPECT_EQ(output.exit_code, 0) << output.text;
}

}  // namespace
}  // namespace godwit::integration
