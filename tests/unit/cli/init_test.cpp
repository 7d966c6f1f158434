// `godwit init`, and the processes that `up` and `kill` look after, with a script in the server's
// place.
#include "server/cli/init.h"

#include <gtest/gtest.h>
#include <signal.h>
#include <sys/stat.h>
#include <unistd.h>

#include <fstream>
#include <set>
#include <sstream>
#include <thread>

#include "server/cli/application.h"
#include "server/cli/processes.h"
#include "tests/unit/storage/temp_directory.h"

namespace godwit::cli {
namespace {

class InitTest : public testing::Test {
 protected:
  int run(const std::vector<std::string>& arguments) {
    return cli::run(arguments, Console{out, error});
  }
  ClusterConfig config() const {
    auto loaded = load_cluster_config(folder / "cluster.toml");
    EXPECT_TRUE(loaded) << loaded.error().context;
    return *loaded;
  }
  static unsigned mode_of(const std::filesystem::path& file) {
    struct stat info {};
    EXPECT_EQ(::stat(file.c_str(), &info), 0) << file;
    return info.st_mode & 0777U;
  }

  TempDirectory temporary;
  std::filesystem::path folder = temporary.path() / "demo";
  std::ostringstream out;
  std::ostringstream error;
};

TEST_F(InitTest, WritesAClusterThatReadsBack) {
  ASSERT_EQ(
      run({"init", folder.string(), "--regions", "us-west,eu", "--shards", "3", "--delay", "40ms",
           "--rate", "200Mbit/s", "--window", "1s", "--ack", "committed", "--codec", "bf16"}),
      0)
      << error.str();
  const ClusterConfig read = config();
  EXPECT_EQ(read.regions, (std::vector<std::string>{"us-west", "eu"}));
  EXPECT_EQ(read.control, "us-west");
  EXPECT_EQ(read.run.leaders, (std::vector{RegionId(1), RegionId(0), RegionId(1)}));
  EXPECT_EQ(read.link.delay, milliseconds(40));
  EXPECT_EQ(read.link.bits_per_second, 200'000'000U);
  EXPECT_EQ(read.run.window_max, seconds(1));
  EXPECT_EQ(read.run.ack, Acknowledgement::kCommitted);
  EXPECT_EQ(read.run.update_codec, (CodecSpec{CodecId::kBf16, false}));
  std::set<std::uint16_t> ports;
  for (const ServerConfig& server : read.servers) {
    for (const HostPort& address : {server.data, server.admin}) {
      EXPECT_TRUE(address.is_loopback());
      EXPECT_LT(address.port, 32768) << "an outgoing connection could be given it";
      EXPECT_TRUE(ports.insert(address.port).second) << "two servers share a port";
      EXPECT_NE(out.str().find(to_string(address)), std::string::npos) << "ports are printed";
    }
  }
}

TEST_F(InitTest, MachinesOfTheirOwnHaveTheUsualPorts) {
  ASSERT_EQ(run({"init", folder.string(), "--regions", "us=10.77.0.1,eu=fd00::2"}), 0) << error.str();
  const ClusterConfig read = config();
  EXPECT_EQ(to_string(read.servers[0].data), "10.77.0.1:7700");
  EXPECT_EQ(to_string(read.servers[0].admin), "127.0.0.1:7780");
  EXPECT_EQ(to_string(read.servers[1].data), "[fd00::2]:7700");
  EXPECT_EQ(to_string(read.servers[1].admin), "127.0.0.1:7781") << "one machine can hold tunnels to both";
  EXPECT_NE(error.str().find("three_machines.md"), std::string::npos) << error.str();
}

TEST_F(InitTest, AdminPortsAreOnTheNetworkWhenAskedFor) {
  ASSERT_EQ(run({"init", folder.string(), "--regions", "us=10.77.0.1,eu=10.77.0.2", "--admin-beyond-loopback"}), 0);
  const ClusterConfig read = config();
  EXPECT_EQ(to_string(read.servers[1].admin), "10.77.0.2:7780");
  EXPECT_TRUE(read.servers[1].admin_beyond_loopback);
}

TEST_F(InitTest, SecretsArePrivateAndNamesAreInCertificates) {
  ASSERT_EQ(run({"init", folder.string(), "--regions", "2", "--workers", "2"}), 0) << error.str();
  const ClusterConfig read = config();
  EXPECT_EQ(mode_of(read.admin_token_file()), 0600U);
  std::ifstream token_file(read.admin_token_file());
  std::string token;
  std::getline(token_file, token);
  EXPECT_EQ(token.size(), 64U);
  std::set<std::string> holders = {"ca", "operator"};
  for (const ServerConfig& server : read.servers) {
    holders.insert(server.name);
    for (const char* worker : {"worker-0", "worker-1"})
      holders.insert(worker_certificate(server.region, worker));
  }
  for (const std::string& holder : holders) {
    EXPECT_EQ(mode_of(read.key_file(holder)), 0600U) << holder;
    EXPECT_TRUE(std::filesystem::exists(read.certificate_file(holder))) << holder;
  }
}

TEST_F(InitTest, NeverOverwrites) {
  ASSERT_EQ(run({"init", folder.string(), "--regions", "1"}), 0);
  std::ifstream before_file(folder / "cluster.toml");
  const std::string before((std::istreambuf_iterator<char>(before_file)), {});
  EXPECT_EQ(run({"init", folder.string(), "--regions", "3"}), 5);
  EXPECT_NE(error.str().find("GODWIT-E2003"), std::string::npos);
  EXPECT_NE(error.str().find("rm -r"), std::string::npos);
  std::ifstream after_file(folder / "cluster.toml");
  EXPECT_EQ(std::string((std::istreambuf_iterator<char>(after_file)), {}), before);
}

TEST_F(InitTest, BadFlagsAreNamedAndLeaveNothing) {
  const auto refused = [&](const std::vector<std::string>& flags, const std::string& named) {
    std::vector<std::string> arguments = {"init", folder.string()};
    arguments.insert(arguments.end(), flags.begin(), flags.end());
    error.str("");
    EXPECT_EQ(run(arguments), 2) << named;
    EXPECT_NE(error.str().find(named), std::string::npos) << error.str();
    EXPECT_FALSE(std::filesystem::exists(folder / "cluster.toml"));
    EXPECT_FALSE(std::filesystem::exists(folder / "certificates"));
  };
  refused({"--delay", "40"}, "--delay");
  refused({"--rate", "fast"}, "--rate");
  refused({"--codec", "int3"}, "--codec");
  refused({"--ack", "maybe"}, "--ack");
  refused({"--regions", "0"}, "--regions");
  refused({"--regions", "us-west,us-west"}, "us-west");
  refused({"--regions", "a b"}, "letters");
  refused({"--control", "mars"}, "--control");
  refused({"--regions", "us=10.77.0.1,eu"}, "--regions");
  refused({"--regions", "us=us.example.org"}, "numeric");
  refused({"--regions", "us,eu", "--admin-beyond-loopback"}, "--admin-beyond-loopback");
}

class ProcessesTest : public InitTest {
 protected:
  void SetUp() override {
    ASSERT_EQ(run({"init", folder.string(), "--regions", "us-west,eu"}), 0);
    cluster = config();
    std::ofstream(program)
        << "#!/bin/sh\necho started\ntrap 'exit 0' TERM\nwhile :; do sleep 0.02; done\n";
    std::filesystem::permissions(program, std::filesystem::perms::owner_all);
  }
  void TearDown() override {
    for (const ServerConfig& server : cluster.servers) {
      (void)processes.signal(server.name, SIGKILL).has_value();
      processes.wait_gone(server.name, seconds(5));
    }
  }

  ClusterConfig cluster;
  std::filesystem::path program = temporary.path() / "godwit-server";
  Processes processes{cluster, program};
};

TEST_F(ProcessesTest, StartsFindsAndStops) {
  EXPECT_FALSE(processes.find("us-west"));
  const auto started = processes.start("us-west");
  ASSERT_TRUE(started) << started.error().context;
  EXPECT_EQ(processes.find("us-west"), *started);
  EXPECT_FALSE(processes.find("eu"));
  const auto again = processes.start("us-west");
  ASSERT_FALSE(again);
  EXPECT_EQ(again.error().code, Errc::kConflict);
  while (last_lines(cluster.log_file("us-west"), 1).empty()) std::this_thread::yield();
  ASSERT_TRUE(processes.signal("us-west", SIGTERM));
  EXPECT_TRUE(processes.wait_gone("us-west", seconds(10)));
  EXPECT_FALSE(processes.find("us-west"));
  EXPECT_FALSE(std::filesystem::exists(cluster.pid_file("us-west")));
  EXPECT_EQ(last_lines(cluster.log_file("us-west"), 1), "    started\n");
}

TEST_F(ProcessesTest, APidThatBelongsToSomebodyElseIsNotOurs) {
  std::ofstream(cluster.pid_file("us-west")) << ::getpid() << "\n";
  EXPECT_FALSE(processes.find("us-west"));
  EXPECT_EQ(run({"kill", "us-west", "-C", folder.string()}), 4);  // and we are still here
  // Nor is the process of another server of this cluster.
  const auto started = processes.start("eu");
  ASSERT_TRUE(started);
  std::ofstream(cluster.pid_file("us-west")) << *started << "\n";
  EXPECT_FALSE(processes.find("us-west"));
}

TEST_F(ProcessesTest, KillsAndDownsWhatRuns) {
  ASSERT_TRUE(processes.start("us-west"));
  ASSERT_TRUE(processes.start("eu"));
  EXPECT_EQ(run({"kill", "us-west", "-C", folder.string()}), 0) << error.str();
  EXPECT_FALSE(processes.find("us-west"));
  EXPECT_EQ(run({"down", "-C", folder.string()}), 0) << error.str();
  EXPECT_FALSE(processes.find("eu"));
  EXPECT_NE(error.str().find("stopped 1 of 2 servers"), std::string::npos) << error.str();
}

TEST_F(ProcessesTest, UnknownNamesAreCorrected) {
  EXPECT_EQ(run({"kill", "us-wset", "-C", folder.string()}), 4);
  EXPECT_NE(error.str().find("did you mean us-west?"), std::string::npos) << error.str();
}

TEST_F(ProcessesTest, AMissingProgramIsNamed) {
  const Processes missing(cluster, temporary.path() / "absent");
  const auto started = missing.start("us-west");
  ASSERT_FALSE(started);
  EXPECT_EQ(started.error().code, Errc::kNotFound);
}

TEST_F(ProcessesTest, OfflineChecksRefuseARunningServer) {
  EXPECT_EQ(run({"verify", "--offline", "-C", folder.string()}), 4);  // there are no stores yet
  ASSERT_TRUE(processes.start("eu"));
  error.str("");
  EXPECT_EQ(run({"verify", "--offline", "-C", folder.string()}), 5);
  EXPECT_NE(error.str().find("godwit down"), std::string::npos) << error.str();
}

}  // namespace
}  // namespace godwit::cli
