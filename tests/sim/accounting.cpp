#include "tests/sim/accounting.h"

#include <algorithm>
#include <cmath>

namespace godwit::sim {
namespace {

constexpr double kRounding = 0x1p-24;

std::optional<PushId> pending_id(const ShardView& view) {
  return view.pending() ? std::optional(view.pending()->push.header.id) : std::nullopt;
}

}  // namespace

Accounting::Accounting(const Layout& layout)
    : layout_(&layout), progress_(layout.parameters), shards_(layout.shards.size()) {}

void Accounting::on_step(std::span<const float> before, std::span<const float> after) {
  for (std::size_t i = 0; i < progress_.size(); ++i) progress_[i] += double{after[i]} - before[i];
}

void Accounting::before(const WorkerCore& core, std::span<const float>) {
  for (std::uint32_t id = 0; id < shards_.size(); ++id) {
    shards_[id].pending = pending_id(core.shard(ShardId(id)));
    shards_[id].version = core.shard(ShardId(id)).head().version;
    shards_[id].entry = core.shard(ShardId(id)).head_hash();
    shards_[id].restore_epoch = core.shard(ShardId(id)).head().restore_epoch;
  }
}

std::string Accounting::after(const WorkerCore& core, std::span<const float> theta, bool pulled) {
  for (std::uint32_t id = 0; id < shards_.size(); ++id) {
    Shard& shard = shards_[id];
    const ShardView& view = core.shard(ShardId(id));
    const ShardLayout& layout = layout_->shards[id];
    const std::span<double> progress = std::span(progress_).subspan(layout.offset, layout.parameters);
    const std::optional<PushId> pending = pending_id(view);
    if (shard.pending && pending != shard.pending && pulled) {
      for (std::size_t i = 0; i < progress.size(); ++i) progress[i] -= shard.spent[i];
    }
    if (pending && pending != shard.pending) shard.spent.assign(progress.begin(), progress.end());
    const bool first = shard.version == Version() && view.head().version != Version();
    if (first || view.head().restore_epoch > shard.restore_epoch) {
      std::fill(progress.begin(), progress.end(), 0.0);
      std::fill(shard.spent.begin(), shard.spent.end(), 0.0);
    }
    if (view.head().version == Version()) continue;
    if (std::string wrong = check(shard, view, theta); !wrong.empty()) return wrong;
  }
  return "";
}

std::string Accounting::check(Shard& shard, const ShardView& view, std::span<const float> theta) {
  const ShardLayout& layout = view.layout();
  double largest = 0, progress = 0;
  for (std::size_t i = 0; i < layout.parameters; ++i) {
    const double local = progress_[layout.offset + i];
    progress = std::max(progress, std::abs(local));
    largest = std::max({largest, std::abs(double{theta[layout.offset + i]}), std::abs(double{view.anchor()[i]}),
                        std::abs(local)});
  }
  // Three roundings of sums that are up to three times the largest, each by half an ulp.
  if (view.head_hash() != shard.entry) shard.tolerance += 16 * kRounding * largest;
  if (progress == 0) shard.tolerance = 0;  // no step since the push: assigned
  for (std::size_t i = 0; i < layout.parameters; ++i) {
    const double expected = double{view.anchor()[i]} + progress_[layout.offset + i];
    const double difference = std::abs(theta[layout.offset + i] - expected);
    if (difference > shard.tolerance + 1e-12 * largest) {
      return "shard " + to_string(view.shard()) + " at version " + to_string(view.head().version) +
             ": theta is off by " + std::to_string(difference * 1e9) + "e-9 from anchor + progress, more than " +
             std::to_string(shard.tolerance * 1e9) + "e-9";
    }
  }
  return "";
}

}  // namespace godwit::sim
