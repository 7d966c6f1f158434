// Accounting: what a worker has done and not yet seen named, in double, beside the core. The rebase rule must
// keep theta == anchor + that, within the roundings of the merges, and exactly after an assignment.
#pragma once

#include <string>
#include <vector>

#include "worker/core/worker_core.h"

namespace godwit::sim {

class Accounting {
 public:
  explicit Accounting(const Layout& layout);

  void on_step(std::span<const float> before, std::span<const float> after);
  // Around every call of the core: which pushes are made and named between before() and after().
  void before(const WorkerCore& core, std::span<const float> theta);
  // `pulled`: the call was a pull's reply, so that a push that is gone was named (else it was refused).
  // "" or what is wrong.
  std::string after(const WorkerCore& core, std::span<const float> theta, bool pulled);

 private:
  struct Shard {
    std::vector<double> spent;      // the pending push
    double tolerance = 0;
    std::optional<PushId> pending;  // before the call
    Version version;
    Hash entry;
    RestoreEpoch restore_epoch;
  };
  std::string check(Shard& shard, const ShardView& view, std::span<const float> theta);

  const Layout* layout_;
  std::vector<double> progress_;  // flat
  std::vector<Shard> shards_;
};

}  // namespace godwit::sim
