#include "bench/chaos/fault_injector.h"

#include <algorithm>
#include <cstdio>

namespace godwit::bench {
namespace {

// A fault that nobody can be hit by waits this long, then it is left out.
constexpr Duration kPatience = seconds(3);
constexpr Duration kPromoteInterval = seconds(2);

}  // namespace

std::string describe(const Injected& fault, const ClusterConfig& config) {
  std::string text(name(fault.kind));
  text += " " + config.regions[fault.region];
  if (is_of_link(fault.kind)) text += " - " + config.regions[fault.other];
  for (const std::size_t shard : fault.led) text += ", leads shard " + std::to_string(shard);
  char time[32];
  std::snprintf(time, sizeof(time), ", for %.1f s", to_seconds(fault.until - fault.at));
  return text + time;
}

FaultInjector::FaultInjector(ChaosCluster& cluster, Watcher& watcher, std::vector<PlannedFault> plan, TimePoint start)
    : cluster_(cluster), watcher_(watcher), plan_(std::move(plan)), start_(start), asked_to_lead_(start) {}

void FaultInjector::step(TimePoint now) {
  for (std::size_t i = 0; i < lasting_.size();) {
    if (lasting_[i].until > now) {
      ++i;
      continue;
    }
    end(lasting_[i]);
    lasting_.erase(lasting_.begin() + static_cast<std::ptrdiff_t>(i));
  }
  spread_leaders(now);
  if (next_ == plan_.size() || now < start_ + plan_[next_].at) return;
  const PlannedFault& planned = plan_[next_];
  if (const std::optional<Target> target = choose(planned)) {
    begin(planned, *target, now);
    ++next_;
  } else if (now > start_ + planned.at + kPatience) {
    ++next_;
  }
}

void FaultInjector::heal_everything() {
  next_ = plan_.size();
  for (const Injected& fault : lasting_) end(fault);
  lasting_.clear();
}

bool FaultInjector::may_hit_server(FaultKind kind) const {
  std::size_t out = 0;
  for (std::size_t region = 0; region < cluster_.regions(); ++region) out += cluster_.server_well(region) ? 0 : 1;
  return is_long(kind) ? out == 0 : out + 1 < cluster_.regions();
}

std::vector<std::size_t> FaultInjector::candidates(FaultKind kind) const {
  std::vector<std::size_t> regions;
  if (!is_of_worker(kind) && !may_hit_server(kind)) return regions;
  for (std::size_t region = 0; region < cluster_.regions(); ++region) {
    const bool control = region == cluster_.control_region();
    bool leads = false;
    for (std::size_t shard = 0; shard < cluster_.config().run.shards; ++shard) {
      leads = leads || watcher_.leader_of(shard) == region;
    }
    const bool well = is_of_worker(kind) || cluster_.server_well(region);
    const bool busy = std::ranges::any_of(lasting_, [&](const Injected& fault) {
      return fault.region == region && !is_of_link(fault.kind) && is_of_worker(fault.kind) == is_of_worker(kind);
    });
    const bool fits = kind == FaultKind::kKillControl  ? control
                      : kind == FaultKind::kKillServer ? !control
                      : kind == FaultKind::kLeaderAway ? !control && leads
                                                       : true;
    if (well && !busy && fits) regions.push_back(region);
  }
  return regions;
}

std::optional<FaultInjector::Target> FaultInjector::choose(const PlannedFault& planned) const {
  if (is_of_link(planned.kind)) return choose_link(planned.draw);
  const std::vector<std::size_t> regions = candidates(planned.kind);
  if (regions.empty()) return std::nullopt;
  return Target{regions[planned.draw % regions.size()], 0};
}

std::optional<FaultInjector::Target> FaultInjector::choose_link(std::uint64_t draw) const {
  std::vector<Target> links;
  for (std::size_t one = 0; one < cluster_.regions(); ++one) {
    for (std::size_t other = one + 1; other < cluster_.regions(); ++other) {
      if (cluster_.link_whole(one, other)) links.push_back({one, other});
    }
  }
  if (links.empty()) return std::nullopt;
  return links[draw % links.size()];
}

void FaultInjector::begin(const PlannedFault& planned, Target target, TimePoint now) {
  Injected fault{planned.kind, now, now + planned.lasts, target.region, target.other, {}};
  if (!is_of_link(fault.kind) && !is_of_worker(fault.kind)) {
    for (std::size_t shard = 0; shard < cluster_.config().run.shards; ++shard) {
      if (watcher_.leader_of(shard) == fault.region) fault.led.push_back(shard);
    }
    watcher_.set_silent(fault.region, true);
  }
  switch (fault.kind) {
    case FaultKind::kKillWorker:
      cluster_.kill_worker(fault.region);
      break;
    case FaultKind::kKillServer:
    case FaultKind::kKillControl:
    case FaultKind::kLeaderAway:
      cluster_.kill_server(fault.region);
      break;
    case FaultKind::kPauseShort:
    case FaultKind::kPauseLong:
      cluster_.pause_server(fault.region);
      break;
    case FaultKind::kCutLink:
      cluster_.set_link(fault.region, fault.other, LinkState::kCut);
      break;
    case FaultKind::kHoldLink:
      cluster_.set_link(fault.region, fault.other, LinkState::kHeld);
      break;
  }
  injected_.push_back(fault);
  lasting_.push_back(fault);
}

void FaultInjector::end(const Injected& fault) {
  switch (fault.kind) {
    case FaultKind::kKillWorker:
      cluster_.start_worker(fault.region);
      return;
    case FaultKind::kKillServer:
    case FaultKind::kKillControl:
    case FaultKind::kLeaderAway:
      cluster_.start_server(fault.region);
      break;
    case FaultKind::kPauseShort:
    case FaultKind::kPauseLong:
      cluster_.resume_server(fault.region);
      break;
    case FaultKind::kCutLink:
    case FaultKind::kHoldLink:
      cluster_.set_link(fault.region, fault.other, LinkState::kWhole);
      return;
  }
  watcher_.set_silent(fault.region, false);
}

void FaultInjector::spread_leaders(TimePoint now) {
  if (now < asked_to_lead_ + kPromoteInterval) return;
  for (std::size_t region = 0; region < cluster_.regions(); ++region) {
    if (!cluster_.server_well(region)) return;
  }
  const std::size_t control = cluster_.control_region();
  for (std::size_t shard = 0; shard < cluster_.config().run.shards; ++shard) {
    if (watcher_.leader_of(shard) != control) return;
  }
  asked_to_lead_ = now;
  const std::optional<Sample> sample = watcher_.latest(control);
  if (!sample || sample->shards.empty()) return;
  for (const std::size_t region : sample->shards[0].in_sync) {
    if (region == control || region >= cluster_.regions()) continue;
    cluster_.post(control, "/api/v1/promote",
                  R"({"shard": 0, "region": ")" + cluster_.config().regions[region] + "\"}");
    return;
  }
}

}  // namespace godwit::bench
