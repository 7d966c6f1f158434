#include "bench/chaos/timeline.h"

#include <algorithm>
#include <cmath>

namespace godwit::bench {
namespace {

// What was on its way when the fault came is no recovery from it.
constexpr Duration kUnderWay = milliseconds(100);

// Up to `at`; nullptr: none.
const Sample* sample_at(const History& history, TimePoint at) {
  const auto next = std::ranges::upper_bound(history, at, {}, &Sample::at);
  return next == history.begin() ? nullptr : &*(next - 1);
}

}  // namespace

Timeline::Timeline(std::vector<History> histories, std::size_t shards, TimePoint end)
    : histories_(std::move(histories)), end_(end), versions_(shards), work_(shards) {
  std::vector<const Sample*> all;
  for (const History& history : histories_) {
    for (const Sample& sample : history) all.push_back(&sample);
  }
  std::ranges::stable_sort(all, {}, &Sample::at);
  std::vector<Line> lines(shards);
  for (const Sample* sample : all) {
    for (std::size_t shard = 0; shard < std::min(shards, sample->shards.size()); ++shard) {
      add(shard, sample->shards[shard], sample->at, lines[shard]);
    }
  }
}

// Only the newest leader's line counts: what an older one went on to write alone is not the shard's log. A follower
// may name the new epoch before it has the log, so a line begins with its leader's own word.
void Timeline::add(std::size_t shard, const ShardSample& sample, TimePoint at, Line& line) {
  if (sample.epoch < line.epoch) return;
  if (sample.epoch > line.epoch) {
    if (sample.leads) line = {sample.epoch, sample.version, sample.tokens};
    return;
  }
  if (sample.version > line.version) versions_[shard].push_back(at);
  if (sample.version > line.version && sample.tokens > line.tokens) work_[shard].push_back(at);
  line.version = std::max(line.version, sample.version);
  line.tokens = std::max(line.tokens, sample.tokens);
}

TimePoint Timeline::work_after(std::size_t shard, TimePoint at) const {
  const auto found = std::ranges::upper_bound(work_[shard], at);
  return found == work_[shard].end() ? end_ : *found;
}

std::uint64_t Timeline::epoch_before(std::size_t shard, TimePoint at) const {
  std::uint64_t epoch = 0;
  for (const History& history : histories_) {
    const Sample* const sample = sample_at(history, at);
    if (sample && shard < sample->shards.size()) epoch = std::max(epoch, sample->shards[shard].epoch);
  }
  return epoch;
}

std::vector<TimePoint> Timeline::epoch_seen(std::size_t shard, std::uint64_t epoch, TimePoint after) const {
  std::vector<TimePoint> seen;
  for (const History& history : histories_) {
    for (const Sample& sample : history) {
      if (sample.at <= after || shard >= sample.shards.size() || sample.shards[shard].epoch <= epoch) continue;
      seen.push_back(sample.at);
      break;
    }
  }
  std::ranges::sort(seen);
  return seen;
}

std::optional<TimePoint> Timeline::went_down(std::size_t at_region, std::size_t to_region, TimePoint after) const {
  const History& history = histories_[at_region];
  const Sample* const before = sample_at(history, after);
  bool up = before != nullptr && before->links_up[to_region];
  for (const Sample& sample : history) {
    if (sample.at <= after) continue;
    if (up && !sample.links_up[to_region]) return sample.at;
    up = sample.links_up[to_region];
  }
  return std::nullopt;
}

std::optional<TimePoint> Timeline::link_down(const Injected& fault) const {
  std::optional<TimePoint> first;
  const auto consider = [&first](std::optional<TimePoint> at) {
    if (at && (!first || *at < *first)) first = at;
  };
  if (is_of_link(fault.kind)) {
    consider(went_down(fault.region, fault.other, fault.at));
    consider(went_down(fault.other, fault.region, fault.at));
  } else if (!is_of_worker(fault.kind)) {
    for (std::size_t region = 0; region < histories_.size(); ++region) {
      if (region != fault.region) consider(went_down(region, fault.region, fault.at));
    }
  }
  return first && *first <= fault.until ? first : std::nullopt;  // later ones belong to another fault
}

Recovery Timeline::recovery(const Injected& fault) const {
  Recovery recovery;
  recovery.kind = fault.kind;
  for (std::size_t shard = 0; shard < work_.size(); ++shard) {
    const TimePoint worked = work_after(shard, fault.at + kUnderWay);
    recovery.seconds = std::max(recovery.seconds, to_seconds(worked - fault.at));
  }
  const std::optional<TimePoint> down = link_down(fault);
  if (down) recovery.detect = to_seconds(*down - fault.at);
  for (const std::size_t shard : fault.led) {
    const TimePoint worked = work_after(shard, fault.at + kUnderWay);
    const std::vector<TimePoint> seen = epoch_seen(shard, epoch_before(shard, fault.at), fault.at);
    if (seen.empty() || seen.front() > worked) continue;  // the leader stayed the same
    const TimePoint followed = seen.size() > 1 ? std::min(seen[1], worked) : worked;
    const auto raise = [](std::optional<double>& value, Duration part) {
      value = std::max(value.value_or(0), to_seconds(std::max(part, Duration::zero())));
    };
    raise(recovery.decide, seen.front() - down.value_or(fault.at));
    raise(recovery.transfer, followed - seen.front());
    raise(recovery.resume, worked - followed);
  }
  return recovery;
}

double Timeline::longest_gap(const std::vector<Health>& health, TimePoint start, TimePoint stop) const {
  Duration longest{};
  for (const std::vector<TimePoint>& versions : versions_) {
    bool well = false;
    TimePoint last = start;
    auto next = versions.begin();
    const auto pass_until = [&](TimePoint until) {
      for (; next != versions.end() && *next <= until; ++next) {
        if (*next <= start) continue;
        if (well) longest = std::max(longest, *next - last);
        last = *next;
      }
      if (well) longest = std::max(longest, until - last);
    };
    for (const Health& change : health) {
      const TimePoint at = std::clamp(change.at, start, stop);
      pass_until(at);
      well = change.two_regions_well;
      if (well) last = std::max(last, at);
    }
    pass_until(stop);
  }
  return to_seconds(longest);
}

double percentile(std::vector<double> values, double percent) {
  if (values.empty()) return 0;
  std::ranges::sort(values);
  const double rank = std::ceil(percent / 100 * static_cast<double>(values.size()));
  return values[std::clamp<std::size_t>(static_cast<std::size_t>(rank), 1, values.size()) - 1];
}

}  // namespace godwit::bench
