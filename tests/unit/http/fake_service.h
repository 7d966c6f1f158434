// FakeService: an AdminService whose answers the test sets. It answers at once, or (held) when the
// test says so.
#pragma once

#include <functional>
#include <mutex>
#include <utility>
#include <vector>

#include "server/http/admin_service.h"
#include "shared/metrics/registry.h"

namespace godwit::http {

inline StatusReport sample_status() {
  StatusReport status;
  status.cluster = "demo";
  status.server = "us-west";
  status.region = "us-west";
  status.hosts_control = true;
  status.ack = "region";
  status.mode = Mode::kSync;
  status.mode_epoch = ModeEpoch(3);
  status.sync_steps = 16;
  status.checks = {{"store", true, ""}, {"control", true, ""}};
  ShardReport shard;
  shard.shard = ShardId(1);
  shard.leads = true;
  shard.version = Version(1ULL << 60);
  shard.parameters = 1000;
  shard.behind_versions = 4;
  status.shards = {shard};
  status.workers = {{"worker-0", "active"}};
  status.links = {{"eu", true, 0.08, {{"delta", 500, 600}}}};
  return status;
}

class FakeService final : public AdminService {
 public:
  void ping(std::function<void()> done) override { answer(std::move(done)); }
  void status(Callback<StatusReport> done) override {
    answer([this, done] { done(report); });
  }
  void block_hashes(ShardId asked_shard, std::optional<Version> version,
                    Callback<Result<BlockHashesReport>> done) override {
    answer([this, asked_shard, version, done] {
      if (asked_shard != shard)
        return done(Error{Errc::kNotFound, "no shard " + to_string(asked_shard)});
      done(BlockHashesReport{
          shard, version.value_or(Version(9)), entry_hash, {block_hash, Hash(~0ULL)}});
    });
  }
  void rebuilt_hashes(ShardId asked_shard, Version version, Callback<Result<BlockHashesReport>> done) override {
    answer([asked_shard, version, done] { done(BlockHashesReport{asked_shard, version, Hash(0xeeb), {}}); });
  }
  void model(ModelRequest request, Callback<Result<SharedBytes>> done) override {
    asked_model = request;
    answer([this, done] { done(model_file()); });
  }
  void checkpoints(Callback<Result<CheckpointsReport>> done) override {
    answer([this, done] { done(CheckpointsReport{"us-west", {checkpoint}}); });
  }
  void create_checkpoint(std::string reason, Callback<Result<CheckpointReport>> done) override {
    checkpoint.reason = std::move(reason);
    answer([this, done] { done(checkpoint); });
  }
  void pin_checkpoint(std::uint64_t id, bool pinned, Callback<Result<CheckpointReport>> done) override {
    checkpoint.pinned = pinned;
    answer_for(id, done);
  }
  void remove_checkpoint(std::uint64_t id, Callback<Result<CheckpointReport>> done) override {
    ++removals;
    answer_for(id, done);
  }
  void restore_checkpoint(std::uint64_t id, Callback<Result<RestoreReport>> done) override {
    answer([id, done] { done(RestoreReport{id, RestoreEpoch(5)}); });
  }
  void set_mode(ModeRequest request, Callback<Result<ModeReport>> done) override {
    asked = request;
    answer([request, done] { done(ModeReport{request.mode, ModeEpoch(4), request.sync_steps}); });
  }
  void promote(PromoteRequest request, Callback<Result<PromoteReport>> done) override {
    answer([request, done] {
      if (request.region == "mars") return done(Error{Errc::kInvalid, "no region is called 'mars'"});
      done(PromoteReport{request.shard, request.region, Epoch(7)});
    });
  }
  void stop_workers(Callback<Result<void>> done) override {
    ++stops;
    answer([done] { done(Result<void>()); });
  }

  void release() {
    std::vector<std::function<void()>> answers;
    {
      const std::lock_guard lock(mutex_);
      answers.swap(held_);
    }
    for (const auto& answer : answers) answer();
  }
  // Also while the server runs.
  void set_model(Result<SharedBytes> file) {
    const std::lock_guard lock(mutex_);
    model_file_ = std::move(file);
  }
  std::size_t held() const {
    const std::lock_guard lock(mutex_);
    return held_.size();
  }

  StatusReport report = sample_status();
  ShardId shard{1};  // the only one
  Hash entry_hash{0xabc};
  Hash block_hash{1};
  std::optional<ModeRequest> asked;
  std::optional<ModelRequest> asked_model;
  CheckpointReport checkpoint{4, 1'700'000'000, "by hand", false, false, {{Version(812), Hash(0xab), true, ""}}};
  int removals = 0;
  int stops = 0;
  bool hold = false;

 private:
  void answer_for(std::uint64_t id, Callback<Result<CheckpointReport>> done) {
    answer([this, id, done] {
      if (id != checkpoint.id) return done(Error{Errc::kNotFound, "there is no checkpoint " + std::to_string(id)});
      done(checkpoint);
    });
  }
  void answer(std::function<void()> answer) {
    if (!hold) return answer();
    const std::lock_guard lock(mutex_);
    held_.push_back(std::move(answer));
  }

  Result<SharedBytes> model_file() {
    const std::lock_guard lock(mutex_);
    return model_file_;
  }

  mutable std::mutex mutex_;  // guards the two below
  Result<SharedBytes> model_file_ = share(Bytes(10));
  std::vector<std::function<void()>> held_;
};

inline metrics::ProcessIdentity test_identity() { return {"demo", "us-west", "0.1.0", "", "", ""}; }

}  // namespace godwit::http
