#include "bench/chaos/watcher.h"

#include <algorithm>

#include "shared/net/clock.h"

namespace godwit::bench {
namespace {

constexpr auto kInterval = milliseconds(20);
constexpr Duration kDeadline = milliseconds(500);

}  // namespace

Watcher::Watcher(const ChaosCluster& cluster) : cluster_(cluster) {
  for (std::size_t region = 0; region < cluster.regions(); ++region) {
    observed_.push_back(std::make_unique<Observed>());
  }
  for (std::size_t region = 0; region < cluster.regions(); ++region) {
    observed_[region]->thread = std::thread([this, region] { watch(region); });
  }
}

Watcher::~Watcher() {
  stopped_ = true;
  for (const auto& observed : observed_) observed->thread.join();
}

void Watcher::watch(std::size_t region) {
  Observed& observed = *observed_[region];
  for (; !stopped_; std::this_thread::sleep_for(kInterval)) {
    if (observed.silent) continue;
    const auto view = cluster_.ask(region, kDeadline);
    if (!view) continue;
    Sample sample = sample_of(*view);
    std::lock_guard lock(observed.mutex);
    History& history = observed.history;
    const bool same = !history.empty() && history.back().shards == sample.shards &&
                      history.back().links_up == sample.links_up;
    if (!same) history.push_back(std::move(sample));
  }
}

Sample Watcher::sample_of(const cli::ServerView& view) const {
  const std::vector<std::string>& regions = cluster_.config().regions;
  const auto index_of = [&regions](const std::string& region) {
    return static_cast<std::size_t>(std::ranges::find(regions, region) - regions.begin());
  };
  Sample sample{net::now(), {}, std::vector<bool>(regions.size())};
  for (const cli::ShardView& shard : view.shards) {
    ShardSample& seen = sample.shards.emplace_back();
    seen.epoch = shard.epoch;
    seen.version = shard.version;
    seen.watermark = shard.watermark;
    seen.tokens = shard.tokens;
    seen.outbox_items = shard.outbox_items;
    seen.leads = shard.leads;
    seen.leader = index_of(shard.leader_region);
    for (const std::string& region : shard.in_sync) seen.in_sync.push_back(index_of(region));
  }
  for (const cli::LinkView& link : view.links) {
    const std::size_t region = index_of(link.region);
    if (region < regions.size()) sample.links_up[region] = link.up;
  }
  return sample;
}

std::vector<History> Watcher::histories() const {
  std::vector<History> all;
  for (const auto& observed : observed_) {
    std::lock_guard lock(observed->mutex);
    all.push_back(observed->history);
  }
  return all;
}

std::optional<Sample> Watcher::latest(std::size_t region) const {
  std::lock_guard lock(observed_[region]->mutex);
  const History& history = observed_[region]->history;
  return history.empty() ? std::nullopt : std::optional(history.back());
}

std::optional<std::size_t> Watcher::leader_of(std::size_t shard) const {
  std::optional<ShardSample> newest;
  for (std::size_t region = 0; region < observed_.size(); ++region) {
    const std::optional<Sample> sample = latest(region);
    if (!sample || shard >= sample->shards.size()) continue;
    if (!newest || sample->shards[shard].epoch > newest->epoch) newest = sample->shards[shard];
  }
  return newest ? std::optional(newest->leader) : std::nullopt;
}

}  // namespace godwit::bench
