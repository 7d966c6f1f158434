// The steps of docker/three_machines.md, on three machines (network namespaces) with real
// addresses: a cluster made on one, to each machine only the files that it needs, servers and
// workers started one by one, all replicas equal.
#include <gtest/gtest.h>

#include <boost/json.hpp>
#include <set>

#include "server/cli/processes.h"
#include "tests/integration/machine.h"

namespace godwit::integration {
namespace {

namespace fs = std::filesystem;
using support::Background;
using support::eventually;

constexpr auto kStartLimit = std::chrono::seconds(60);
constexpr auto kAdvanceLimit = std::chrono::seconds(60);
constexpr std::uint64_t kVersionsMore = 5;
constexpr std::size_t kLogLines = 20;
const std::vector<std::string> kRegions = {"us-west", "eu-central", "ap-southeast"};

class Machines : public ::testing::Test {
 protected:
  void SetUp() override {
    auto machines = ThreeMachines::make();
    if (!machines) GTEST_SKIP() << machines.error().context;
    machines_ = std::move(*machines);
    make_cluster();
    for (std::size_t index = 0; index < kRegions.size(); ++index) copy_files(index);
  }

  std::string folder(std::size_t index) const {
    return temporary_.path() + "/machine-" + kRegions[index];
  }
  std::string training_folder(std::size_t index) const {
    return temporary_.path() + "/training-" + kRegions[index];
  }
  std::string acknowledgements(std::size_t index) const {
    return training_folder(index) + "/acknowledgements";
  }

  void make_cluster() {
    std::string regions;
    for (std::size_t index = 0; index < kRegions.size(); ++index) {
      regions += (index == 0 ? "" : ",") + kRegions[index] + "=" + ThreeMachines::address(index);
    }
    const support::Output made = support::run(
        {GODWIT_CLI_PROGRAM, "init", temporary_.path() + "/prod", "--name", "prod", "--regions",
         regions, "--admin-beyond-loopback", "--window", "300ms", "--block-parameters", "1024"});
    ASSERT_EQ(made.exit_code, 0) << made.text;
  }

  // To the server's machine, and to the training machine of its region.
  void copy_files(std::size_t index) {
    const std::string& region = kRegions[index];
    copy({"cluster.toml", "admin.token", "certificates/ca.crt", "certificates/" + region + ".crt",
          "certificates/" + region + ".key"},
         folder(index));
    copy({"certificates/ca.crt", "certificates/" + region + ".worker-0.crt",
          "certificates/" + region + ".worker-0.key"},
         training_folder(index));
    ASSERT_EQ(certificates(folder(index)),
              (std::set<std::string>{"ca.crt", region + ".crt", region + ".key"}));
  }
  static std::set<std::string> certificates(const std::string& folder) {
    std::set<std::string> names;
    for (const auto& file : fs::directory_iterator(folder + "/certificates"))
      names.insert(file.path().filename());
    return names;
  }
  void copy(const std::vector<std::string>& files, const fs::path& to) const {
    for (const std::string& file : files) {
      fs::create_directories((to / file).parent_path());
      fs::copy_file(fs::path(temporary_.path()) / "prod" / file, to / file);
    }
  }

  void start_server(std::size_t index) {
    servers_[index] = std::make_unique<Background>(
        machines_->machine(index).inside({GODWIT_SERVER_PROGRAM, "--config",
                                          folder(index) + "/cluster.toml", "--region",
                                          kRegions[index]}),
        folder(index) + "/server.log");
  }
  void start_worker(std::size_t index) {
    workers_[index] = std::make_unique<Background>(
        machines_->machine(index).inside(
            {GODWIT_EXAMPLE_PROGRAM, ThreeMachines::address(index) + ":7700", kRegions[index],
             "worker-0", training_folder(index) + "/certificates/", acknowledgements(index), "0"}),
        training_folder(index) + "/worker.log");
  }

  // `godwit ARGUMENTS` with the files of that machine, on it.
  support::Output godwit(std::size_t index, Arguments arguments) const {
    arguments.insert(arguments.begin(), GODWIT_CLI_PROGRAM);
    arguments.insert(arguments.end(), {"-C", folder(index)});
    return machines_->machine(index).run(arguments);
  }

  // The version of each shard that all three replicas hold, byte for byte the same; empty: not yet,
  // or not the same.
  std::vector<std::uint64_t> common_versions() const {
    const support::Output output = godwit(0, {"verify", "-o", "json"});
    if (output.exit_code != 0) return {};
    const boost::json::value report = boost::json::parse(output.text);
    std::vector<std::uint64_t> versions;
    for (const boost::json::value& shard : report.at("shards").as_array()) {
      EXPECT_EQ(shard.at("replicas").to_number<std::size_t>(), kRegions.size());
      versions.push_back(std::stoull(shard.at("version").as_string().c_str()));
    }
    return versions;
  }

  std::string logs() const {
    std::string text;
    for (std::size_t index = 0; index < kRegions.size(); ++index) {
      for (const std::string& file :
           {folder(index) + "/server.log", training_folder(index) + "/worker.log"})
        text += "---- " + file + "\n" + cli::last_lines(file, kLogLines);
    }
    return text;
  }

  support::TemporaryFolder temporary_;
  std::unique_ptr<ThreeMachines> machines_;
  std::unique_ptr<Background> servers_[3], workers_[3];
};

TEST_F(Machines, ThreeMachinesWithTheirOwnFilesTrainOneModel) {
  for (std::size_t index = 0; index < kRegions.size(); ++index) start_server(index);
  for (std::size_t index = 0; index < kRegions.size(); ++index) start_worker(index);
  std::vector<std::uint64_t> first;
  ASSERT_TRUE(eventually(
      kStartLimit, [&] { return !(first = common_versions()).empty(); }, std::chrono::seconds(1)))
      << "the machines do not train together\n"
      << logs();
  EXPECT_TRUE(eventually(
      kAdvanceLimit,
      [&] {
        const std::vector<std::uint64_t> now = common_versions();
        for (std::size_t shard = 0; shard < now.size(); ++shard) {
          if (now[shard] < first[shard] + kVersionsMore) return false;
        }
        return !now.empty();
      },
      std::chrono::milliseconds(200)))
      << "the replicas do not advance\n"
      << logs();
  for (std::size_t index = 0; index < kRegions.size(); ++index) {
    EXPECT_GT(fs::file_size(acknowledgements(index)), 0U)
        << "nothing was acknowledged in " << kRegions[index];
  }

  const support::Output verified = godwit(0, {"verify"});
  EXPECT_EQ(verified.exit_code, 0);
  EXPECT_TRUE(verified.text.ends_with("identical\n")) << verified.text;
  for (std::size_t index = 0; index < kRegions.size(); ++index) {
    const support::Output examined = godwit(index, {"doctor"});
    EXPECT_EQ(examined.exit_code, 0) << examined.text;
  }
  for (std::size_t index = 0; index < kRegions.size(); ++index)
    EXPECT_EQ(servers_[index]->terminate(std::chrono::seconds(20)), 0) << logs();
}

TEST_F(Machines, DoctorTellsACutCableFromAStoppedServerAndFromAWrongMachine) {
  const auto doctor = [&](std::size_t index) { return godwit(index, {"doctor"}).text; };
  for (std::size_t index = 0; index < kRegions.size(); ++index) start_server(index);
  ASSERT_TRUE(eventually(
      kStartLimit, [&] { return godwit(0, {"doctor"}).exit_code == 0; }, std::chrono::seconds(1)))
      << doctor(0) << logs();

  servers_[1]->kill_now();
  const std::string stopped = doctor(0);
  EXPECT_NE(stopped.find("10.77.0.2:7700 refuses"), std::string::npos) << stopped;

  ASSERT_TRUE(machines_->set_plugged(2, false));
  const std::string cut = doctor(0);
  EXPECT_NE(cut.find("10.77.0.3:7700"), std::string::npos) << cut;
  EXPECT_TRUE(cut.find("did not answer within") != std::string::npos ||
              cut.find("there is no way") != std::string::npos)
      << cut;

  // The files of eu-central on the machine of us-west.
  const std::string elsewhere =
      machines_->machine(0).run({GODWIT_CLI_PROGRAM, "doctor", "-C", folder(1)}).text;
  EXPECT_NE(elsewhere.find("no interface of this machine has that address"), std::string::npos)
      << elsewhere;
}

}  // namespace
}  // namespace godwit::integration
