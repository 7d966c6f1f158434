// Disks of real servers that fill up or rot: the server says what is wrong and what to do, or does it itself, and after
// that nothing acknowledged is missing.
#include <gtest/gtest.h>
#include <sys/mount.h>
#include <unistd.h>

#include <fstream>

#include "tests/support/local_cluster.h"

namespace godwit::integration {
namespace {

namespace fs = std::filesystem;
using support::eventually;
using support::LocalCluster;
using support::Output;
using support::ShardView;

constexpr auto kLimit = std::chrono::seconds(60);
constexpr auto kStopLimit = std::chrono::seconds(20);

// A small disk at `path` while this lives. Needs root.
class SmallDisk {
 public:
  explicit SmallDisk(const fs::path& path) : path_(path) {
    fs::create_directories(path);
    mounted_ = ::mount("tmpfs", path.c_str(), "tmpfs", 0, "size=24m,mode=0700") == 0;
  }
  ~SmallDisk() {
    if (mounted_) ::umount2(path_.c_str(), MNT_DETACH);
  }
  SmallDisk(const SmallDisk&) = delete;
  SmallDisk& operator=(const SmallDisk&) = delete;
  bool mounted() const { return mounted_; }

  void fill() const {
    std::ofstream out(ballast(), std::ios::binary | std::ios::app);
    const std::string page(4096, 'x');
    while (out.write(page.data(), static_cast<std::streamsize>(page.size())).flush()) {
    }
  }
  void free_space() const { fs::remove(ballast()); }

 private:
  fs::path ballast() const { return path_ / "ballast"; }
  fs::path path_;
  bool mounted_ = false;
};

cli::InitFlags three_regions() {
  cli::InitFlags plan;
  plan.regions = "3";
  plan.shards = 2;
  plan.window = "200ms";
  return plan;
}

class DiskTest : public ::testing::Test {
 protected:
  std::vector<std::string> regions() const { return cluster_.config().regions; }
  fs::path directory() const { return cluster_.config().data_directory(victim()); }
  const std::string& victim() const { return cluster_.region(2); }
  fs::path mark(const std::string& region) const { return cluster_.config().data_directory(region) / "DAMAGED"; }

  void train() {
    cluster_.start_servers();
    for (const std::string& region : regions()) cluster_.start_worker(region);
    ASSERT_TRUE(grows_by(4)) << cluster_.logs();
  }
  std::uint64_t version() const {
    const std::vector<ShardView> shards = cluster_.shards(victim());
    return shards.empty() ? 0 : shards.front().version;
  }
  bool grows_by(std::uint64_t more) const {
    const std::uint64_t base = version();
    return eventually(kLimit, [&] { return version() >= base + more; });
  }
  // Workers end, and every region names every push.
  void settle() {
    cluster_.tell_workers_to_stop();
    for (const std::string& region : regions()) EXPECT_EQ(cluster_.worker(region).wait(kStopLimit), 0);
    EXPECT_TRUE(eventually(kLimit, [&] { return cluster_.settled(); })) << cluster_.logs();
  }
  void expect_nothing_is_missing() {
    for (const std::string& region : regions()) EXPECT_EQ(cluster_.stop_server(region), 0);
    std::vector<std::string> arguments = {"verify", "--offline", "-o", "json"};
    for (const std::string& region : regions()) {
      for (const auto& file : cluster_.acknowledgement_files(region))
        arguments.insert(arguments.end(), {"--acknowledgements", file.string()});
    }
    const Output output = cluster_.godwit(arguments);
    EXPECT_EQ(output.exit_code, 0) << output.text;
    const boost::json::value report = boost::json::parse(output.text);
    EXPECT_TRUE(report.at("replicas_identical").as_bool());
    EXPECT_GT(report.at("pushes_acknowledged").to_number<std::size_t>(), 0U);
    EXPECT_EQ(report.at("pushes_missing").to_number<std::size_t>(), 0U);
    EXPECT_EQ(report.at("pushes_twice").to_number<std::size_t>(), 0U);
  }
  void expect_log_says(const std::vector<std::string>& words) const {
    const std::string log = cluster_.server_log(victim());
    for (const std::string& word : words) EXPECT_NE(log.find(word), std::string::npos) << word << "\n" << log;
  }

  LocalCluster cluster_{three_regions()};
};

TEST_F(DiskTest, AServerWhoseDiskIsFullSaysSoAndGoesOnWhenThereIsSpace) {
  const SmallDisk disk(directory());
  if (!disk.mounted()) GTEST_SKIP() << "needs root, to mount a small disk";
  train();
  disk.fill();
  EXPECT_EQ(cluster_.server(victim()).wait(kStopLimit), 1) << cluster_.logs();
  expect_log_says({"stops, nothing more is acknowledged", directory().string(), "the disk is full: free space"});

  disk.fill();  // what the server had reserved, too
  const Output doctor = cluster_.godwit({"doctor", "--region", victim(), "-o", "json"});
  EXPECT_EQ(doctor.exit_code, 1);
  EXPECT_NE(doctor.text.find("the disk is full: 0 B free in " + directory().string()), std::string::npos)
      << doctor.text;

  cluster_.start_server(victim());
  EXPECT_EQ(cluster_.server(victim()).wait(kStopLimit), 1) << cluster_.logs();
  expect_log_says({"error: io: data directory " + directory().string() +
                   ": the disk is full: free space, then restart"});
  disk.free_space();
  cluster_.start_server(victim());
  ASSERT_TRUE(eventually(kLimit, [&] { return version() > 0; })) << cluster_.logs();
  ASSERT_TRUE(grows_by(3)) << cluster_.logs();
  settle();
  expect_nothing_is_missing();
}

fs::path largest_table(const fs::path& directory) {
  fs::path largest;
  for (const auto& entry : fs::directory_iterator(directory)) {
    if (entry.path().extension() != ".sst") continue;
    if (largest.empty() || entry.file_size() > fs::file_size(largest)) largest = entry.path();
  }
  return largest;
}

void flip_a_byte(const fs::path& file) {
  std::fstream stream(file, std::ios::in | std::ios::out | std::ios::binary);
  const auto middle = static_cast<std::streamoff>(fs::file_size(file) / 2);
  stream.seekg(middle);
  const char byte = static_cast<char>(stream.get() ^ 0x40);
  stream.seekp(middle);
  stream.put(byte);
}

TEST_F(DiskTest, AServerWithARottenTableNamesItAndReloadsFromTheOthers) {
  train();
  settle();
  EXPECT_EQ(cluster_.stop_server(victim()), 0);
  cluster_.start_server(victim());  // moves what it finds in its log into tables
  ASSERT_TRUE(eventually(kLimit, [&] { return cluster_.settled(); })) << cluster_.logs();
  EXPECT_EQ(cluster_.stop_server(victim()), 0);
  const fs::path table = largest_table(directory());
  ASSERT_FALSE(table.empty());
  flip_a_byte(table);
  cluster_.start_server(victim());
  EXPECT_TRUE(eventually(kLimit, [&] { return cluster_.settled(); })) << cluster_.logs();
  expect_log_says({"corrupt", table.filename().string(), "kept its outbox", "reloads from the other regions"});
  EXPECT_FALSE(fs::exists(table));
  EXPECT_FALSE(fs::exists(mark(victim())));
  expect_nothing_is_missing();
}

// What a server leaves that met the damage while it ran; this one leads, and has the control store in its directory.
TEST_F(DiskTest, ALeaderThatFoundDamageComesBackAsAFollower) {
  train();
  const std::string& leader = cluster_.region(0);
  EXPECT_EQ(cluster_.stop_server(leader), 0);
  std::ofstream(mark(leader)) << "corrupt: a table\n";
  cluster_.start_server(leader);
  ASSERT_TRUE(eventually(kLimit, [&] { return !cluster_.shards(leader).empty(); })) << cluster_.logs();
  EXPECT_FALSE(cluster_.shards(leader).front().leads);
  EXPECT_FALSE(fs::exists(mark(leader)));
  ASSERT_TRUE(grows_by(3)) << cluster_.logs();
  settle();
  expect_nothing_is_missing();
}

// Nobody could give it back what it would drop.
TEST(LoneServer, ThatFoundDamageGoesOnWithWhatItHas) {
  cli::InitFlags plan = three_regions();
  plan.regions = "1";
  LocalCluster cluster(plan);
  const std::string& region = cluster.region(0);
  const auto reaches = [&](std::uint64_t version) {
    return eventually(kLimit, [&] {
      const auto shards = cluster.shards(region);
      return !shards.empty() && shards.front().version >= version;
    });
  };
  cluster.start_servers();
  cluster.start_worker(region);
  ASSERT_TRUE(reaches(3)) << cluster.logs();
  EXPECT_EQ(cluster.stop_server(region), 0);
  const fs::path mark = cluster.config().data_directory(region) / "DAMAGED";
  std::ofstream(mark) << "corrupt: a table\n";
  cluster.start_server(region);
  EXPECT_TRUE(reaches(6)) << cluster.logs();
  EXPECT_NE(cluster.server_log(region).find("goes on with what it has"), std::string::npos) << cluster.logs();
  EXPECT_TRUE(fs::exists(mark));
}

}  // namespace
}  // namespace godwit::integration
