// Checkpoints on real processes: what is restored is what was kept, bit for bit, pushes are counted
// whatever becomes of them, and a run that a worker has ruined goes on from where it was good.
#include <gtest/gtest.h>

#include <boost/json.hpp>
#include <fstream>
#include <map>

#include "shared/tensor/safetensors.h"
#include "tests/support/local_cluster.h"

namespace godwit::integration {
namespace {

using support::Background;
using support::eventually;
using support::LocalCluster;
using support::Output;
using support::ShardView;

constexpr auto kLimit = std::chrono::seconds(60);
constexpr double kLearned = 4.0;  // bits per byte of held-out text; untrained it is 8

cli::InitFlags plan() {
  cli::InitFlags plan;
  plan.regions = "3";
  plan.shards = 2;
  plan.window = "400ms";
  return plan;
}

class RestoreTest : public ::testing::Test {
 protected:
  std::vector<std::string> regions() const { return cluster_.config().regions; }
  std::uint64_t version() const {
    const std::vector<ShardView> shards = cluster_.shards(cluster_.region(0));
    return shards.empty() ? 0 : shards.front().version;
  }
  bool grows_by(std::uint64_t more) const {
    const std::uint64_t base = version();
    return eventually(kLimit, [&] { return version() >= base + more; });
  }
  boost::json::value json(const std::vector<std::string>& arguments) const {
    std::vector<std::string> all = arguments;
    all.insert(all.end(), {"-o", "json"});
    const Output output = cluster_.godwit(all);
    EXPECT_EQ(output.exit_code, 0) << output.text << cluster_.logs();
    boost::json::error_code error;
    return boost::json::parse(output.text, error);
  }
  std::string made_checkpoint() const {
    return std::string(json({"checkpoint", "create"}).at("id").as_string());
  }
  std::string exported(const std::string& name, std::vector<std::string> of = {}) const {
    const std::string file = (cluster_.folder() / name).string();
    of.insert(of.begin(), {"model", "export", file});
    const Output output = cluster_.godwit(of);
    EXPECT_EQ(output.exit_code, 0) << output.text << cluster_.logs();
    return file;
  }
  void expect_every_push_counted(const std::vector<std::string>& files) {
    for (const std::string& region : regions()) EXPECT_EQ(cluster_.stop_server(region), 0);
    std::vector<std::string> arguments = {"verify", "--offline"};
    for (const std::string& file : files)
      arguments.insert(arguments.end(), {"--acknowledgements", file});
    const boost::json::value report = json(arguments);
    EXPECT_TRUE(report.at("replicas_identical").as_bool());
    EXPECT_GT(report.at("pushes_acknowledged").to_number<std::size_t>(), 0U);
    EXPECT_EQ(report.at("pushes_missing").to_number<std::size_t>(), 0U);
    EXPECT_EQ(report.at("pushes_twice").to_number<std::size_t>(), 0U);
  }

  LocalCluster cluster_{plan()};
};

TEST_F(RestoreTest, WhatIsRestoredIsWhatWasKeptAndEveryPushIsCounted) {
  cluster_.start_servers();
  for (const std::string& region : regions()) cluster_.start_worker(region);
  ASSERT_TRUE(eventually(kLimit, [&] { return version() >= 3; })) << cluster_.logs();
  const std::string id = made_checkpoint();
  ASSERT_TRUE(grows_by(4)) << cluster_.logs();
  EXPECT_EQ(cluster_.godwit({"checkpoint", "verify", id}).exit_code, 0);
  EXPECT_EQ(cluster_.godwit({"checkpoint", "restore", id}).exit_code, 0)
      << cluster_.logs();  // while they train
  ASSERT_TRUE(grows_by(3)) << "the run goes on\n" << cluster_.logs();
  cluster_.kill_server(cluster_.region(1));
  cluster_.start_server(cluster_.region(1));
  ASSERT_TRUE(eventually(kLimit, [&] { return !cluster_.shards(cluster_.region(1)).empty(); }))
      << cluster_.logs();
  ASSERT_TRUE(grows_by(2)) << cluster_.logs();

  cluster_.tell_workers_to_stop();
  for (const std::string& region : regions())
    EXPECT_EQ(cluster_.worker(region).wait(kLimit), 0) << cluster_.logs();
  ASSERT_TRUE(eventually(kLimit, [&] { return cluster_.settled(); })) << cluster_.logs();
  EXPECT_EQ(cluster_.godwit({"checkpoint", "restore", id}).exit_code, 0)
      << cluster_.logs();  // at rest
  const auto kept = safetensors::read_file(exported("kept.safetensors", {"--checkpoint", id}));
  const auto now = safetensors::read_file(exported("now.safetensors"));
  ASSERT_TRUE(kept && now);
  ASSERT_EQ(kept->tensors.size(), now->tensors.size());
  for (const safetensors::Tensor& tensor : kept->tensors)
    EXPECT_EQ(now->find(tensor.name)->values, tensor.values);
  EXPECT_EQ(cluster_.godwit({"verify"}).exit_code, 0);
  EXPECT_EQ(cluster_.godwit({"checkpoint", "restore", "77"}).exit_code, 4);

  std::vector<std::string> files;
  for (const std::string& region : regions()) {
    for (const auto& file : cluster_.acknowledgement_files(region)) files.push_back(file.string());
  }
  expect_every_push_counted(files);
}

TEST_F(RestoreTest, AnImportedModelIsVersionOneAndWorkersTrainOn) {
  const std::vector<float> line = {2.5F, -0.5F}, noise(4096, 0.25F);
  const std::string file = (cluster_.folder() / "start.safetensors").string();
  ASSERT_TRUE(safetensors::write_file(
      file, std::vector<safetensors::TensorView>{{"line", {2}, line}, {"noise", {64, 64}, noise}}));
  cluster_.start_servers();
  ASSERT_TRUE(eventually(
      kLimit, [&] { return cluster_.get(cluster_.region(0), "/api/v1/status").has_value(); }));
  EXPECT_EQ(cluster_.godwit({"model", "import", file, "--exact", "typo"}).exit_code, 1);
  ASSERT_EQ(cluster_.godwit({"model", "import", file, "--exact", "line"}).exit_code, 0)
      << cluster_.logs();
  const auto now = safetensors::read_file(exported("now.safetensors"));
  ASSERT_TRUE(now);
  EXPECT_EQ(now->find("line")->values, line);
  EXPECT_EQ(now->find("noise")->values, noise);
  EXPECT_EQ(cluster_.godwit({"model", "import", file}).exit_code, 5) << "the run has begun";
  cluster_.start_worker(cluster_.region(1));
  EXPECT_TRUE(grows_by(2)) << cluster_.logs();
}

#ifdef GODWIT_WORKER_PROGRAM
// The reference trainer on real text; one worker of three gets a learning rate a thousand times too
// high.
class DivergedRunTest : public RestoreTest {
 protected:
  void SetUp() override {
    const Output text = support::run({"/usr/bin/bible", "-f", "gen1:1-deu34:12"});
    ASSERT_EQ(text.exit_code, 0) << "bible-kjv is missing: docker/install-packages.sh";
    std::ofstream(data_) << text.text;
    cluster_.start_servers();
    for (const std::string& region : regions()) start_trainer(region, "0.001");
    ASSERT_TRUE(eventually(kLimit, [&] { return version() >= 2; })) << cluster_.logs();
  }
  void start_trainer(const std::string& region, const std::string& learning_rate) {
    const auto index =
        std::ranges::find(cluster_.config().regions, region) - cluster_.config().regions.begin();
    const std::string holder = worker_certificate(region, "worker-0");
    acknowledgements_.push_back(
        (cluster_.folder() / (holder + std::to_string(acknowledgements_.size()))).string());
    trainers_[region] = std::make_unique<Background>(
        std::vector<std::string>{GODWIT_WORKER_PROGRAM,
                                 "train",
                                 "--server",
                                 to_string(cluster_.config().find_region(region)->data),
                                 "--region",
                                 region,
                                 "--regions",
                                 "3",
                                 "--region-index",
                                 std::to_string(index),
                                 "--name",
                                 "worker-0",
                                 "--cert",
                                 cluster_.config().certificate_file(holder).string(),
                                 "--key",
                                 cluster_.config().key_file(holder).string(),
                                 "--ca",
                                 cluster_.config().authority_file().string(),
                                 "--data",
                                 data_,
                                 "--acknowledgements",
                                 acknowledgements_.back(),
                                 "--learning-rate",
                                 learning_rate},
        cluster_.config().log_file(holder).string());
  }
  void stop_trainer(const std::string& region) {
    EXPECT_EQ(trainers_.at(region)->terminate(std::chrono::seconds(40)), 0)
        << region << cluster_.logs();
  }
  double heldout(const std::string& model) const {
    const Output output = support::run({GODWIT_WORKER_PROGRAM, "evaluate", "--model", model,
                                        "--data", data_, "--max-bytes", "8192", "-o", "json"});
    EXPECT_EQ(output.exit_code, 0);
    return boost::json::parse(output.text).at("heldout_bits_per_byte").to_number<double>();
  }

  std::string data_ = (cluster_.folder() / "text").string();
  std::vector<std::string> acknowledgements_;
  std::map<std::string, std::unique_ptr<Background>> trainers_;
};

TEST_F(DivergedRunTest, ARestoreBringsHeldOutLossBack) {
  const auto patience = std::chrono::seconds(120);
  const auto pause = std::chrono::milliseconds(500);
  ASSERT_TRUE(eventually(
      patience, [&] { return heldout(exported("now.safetensors")) < kLearned; }, pause))
      << "it does not learn\n"
      << cluster_.logs();
  const std::string id = made_checkpoint();
  const double good = heldout(exported("good.safetensors", {"--checkpoint", id}));

  const std::string& culprit = cluster_.region(0);
  stop_trainer(culprit);
  start_trainer(culprit, "1");
  double bad = 0;
  EXPECT_TRUE(eventually(
      patience, [&] { return (bad = heldout(exported("bad.safetensors"))) > good + 0.7; }, pause))
      << "held-out " << bad << " bits per byte, it was " << good << "\n"
      << cluster_.logs();
  trainers_.at(culprit)->kill_now();
  ASSERT_EQ(cluster_.godwit({"checkpoint", "restore", id}).exit_code, 0) << cluster_.logs();
  const double restored = heldout(exported("restored.safetensors"));
  start_trainer(culprit, "0.001");
  ASSERT_TRUE(grows_by(10)) << cluster_.logs();
  const double later = heldout(exported("later.safetensors"));
  std::printf("restore: held-out bits per byte %.3f, diverged %.3f, restored %.3f, later %.3f\n",
              good, bad, restored, later);
  EXPECT_LT(restored, good + 0.1);
  EXPECT_LT(later, good + 0.1) << "and training goes on from there";

  for (const std::string& region : regions()) stop_trainer(region);
  ASSERT_TRUE(eventually(kLimit, [&] { return cluster_.settled(); })) << cluster_.logs();
  EXPECT_EQ(cluster_.godwit({"verify"}).exit_code, 0);
  expect_every_push_counted(acknowledgements_);
}
#endif

}  // namespace
}  // namespace godwit::integration
