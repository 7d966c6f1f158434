#include "bench/chaos/chaos_bench.h"

#include <signal.h>

#include <algorithm>
#include <cstdio>
#include <fstream>
#include <functional>
#include <iterator>

#include "shared/net/clock.h"

namespace godwit::bench {
namespace {

constexpr Duration kStep = milliseconds(5);
constexpr Duration kStartLimit = seconds(60), kLeaveLimit = seconds(60), kSettleLimit = seconds(60);
constexpr Duration kStopInterval = seconds(1);  // between two words to workers: one may have been away
constexpr std::uint64_t kWarmVersions = 3;

volatile sig_atomic_t interrupted = 0;

// While it lives, SIGINT and SIGTERM are only noted.
class SignalNote {
 public:
  SignalNote() {
    struct sigaction action = {};
    action.sa_handler = [](int) { interrupted = 1; };
    sigaction(SIGINT, &action, &interrupt_before_);
    sigaction(SIGTERM, &action, &terminate_before_);
  }
  ~SignalNote() {
    sigaction(SIGINT, &interrupt_before_, nullptr);
    sigaction(SIGTERM, &terminate_before_, nullptr);
  }
  SignalNote(const SignalNote&) = delete;
  SignalNote& operator=(const SignalNote&) = delete;

 private:
  struct sigaction interrupt_before_ = {}, terminate_before_ = {};
};

struct Usage {
  double resident_bytes = 0;
  std::int64_t descriptors = 0;
};

Usage usage_of(pid_t process) {
  const std::filesystem::path folder = "/proc/" + std::to_string(process);
  Usage usage;
  std::ifstream status(folder / "statm");
  double total_pages = 0, resident_pages = 0;
  if (status >> total_pages >> resident_pages) usage.resident_bytes = resident_pages * 4096;
  std::error_code error;
  const std::filesystem::directory_iterator open_files(folder / "fd", error);
  if (!error) usage.descriptors = std::distance(begin(open_files), end(open_files));
  return usage;
}

bool flawless(const ChaosRun& run) {
  return run.hashes_equal && run.audit.passed() && run.history.violations.empty() && run.complaints.empty();
}

// One cluster from its start to its audit.
class Course {
 public:
  explicit Course(ChaosCluster& cluster) : cluster_(cluster), watcher_(cluster) {}

  Result<ChaosRun> run(Duration duration, std::vector<PlannedFault> plan) {
    if (Result<void> started = start(); !started) return started.error();
    const std::vector<Usage> usage_before = usage();
    const std::uint64_t tokens_before = tokens();
    const TimePoint begun = net::now();
    FaultInjector injector(cluster_, watcher_, std::move(plan), begun);
    if (Result<void> gone = go_on(injector, begun, begun + duration); !gone) return gone.error();
    const TimePoint stopped = net::now();
    run_.seconds = to_seconds(stopped - begun);
    if (Result<void> left = stop_workers(); !left) return left.error();
    if (Result<void> settled = wait_until([this] { return this->settled(); }, kSettleLimit, "does not settle");
        !settled) {
      return settled.error();
    }
    note_growth(usage_before);
    run_.hashes_equal = hashes_equal();
    const Timeline timeline(watcher_.histories(), cluster_.config().run.shards, net::now());
    run_.faults = injector.injected();
    for (const Injected& fault : run_.faults) run_.recoveries.push_back(timeline.recovery(fault));
    run_.longest_gap = timeline.longest_gap(cluster_.health(), begun, stopped);
    if (Result<void> counted = count(tokens_before); !counted) return counted.error();
    return std::move(run_);
  }

 private:
  Result<void> start() {
    for (std::size_t region = 0; region < cluster_.regions(); ++region) cluster_.start_server(region);
    for (std::size_t region = 0; region < cluster_.regions(); ++region) cluster_.start_worker(region);
    return wait_until([this] { return everywhere([](const ShardSample& s) { return s.version >= kWarmVersions; }); },
                      kStartLimit, "does not train");
  }

  // With faults until `end`, then without, until every server shows its shards again.
  Result<void> go_on(FaultInjector& injector, TimePoint begun, TimePoint end) {
    std::size_t told = 0;
    const auto step = [&] {
      injector.step(net::now());
      for (; told < injector.injected().size(); ++told) {
        const Injected& fault = injector.injected()[told];
        std::fprintf(stderr, "%6.1f s  %s\n", to_seconds(fault.at - begun),
                     describe(fault, cluster_.config()).c_str());
      }
      return net::now() >= end;
    };
    if (Result<void> gone = wait_until(step, Duration::max(), ""); !gone) return gone;
    injector.heal_everything();
    const auto answered = [this] {
      for (std::size_t region = 0; region < cluster_.regions(); ++region) {
        const std::optional<cli::ServerView> view = cluster_.ask(region, seconds(1));
        if (!view || view->shards.empty()) return false;
      }
      return true;
    };
    return wait_until(answered, kStartLimit, "does not come back");
  }

  Result<void> stop_workers() {
    TimePoint due = net::now();
    ending_ = true;
    const auto ended = [&] {
      if (net::now() >= due) {
        for (std::size_t region = 0; region < cluster_.regions(); ++region) {
          cluster_.post(region, "/api/v1/stop", "{}");
        }
        due = net::now() + kStopInterval;
      }
      for (std::size_t region = 0; region < cluster_.regions(); ++region) {
        if (!cluster_.worker_exit_code(region)) return false;
      }
      return true;
    };
    if (Result<void> left = wait_until(ended, kLeaveLimit, "has workers that do not leave"); !left) return left;
    for (std::size_t region = 0; region < cluster_.regions(); ++region) {
      if (const int code = *cluster_.worker_exit_code(region); code != 0) {
        complain("the worker of " + cluster_.config().regions[region] + " ended with " + std::to_string(code));
      }
    }
    return {};
  }

  Result<void> count(std::uint64_t tokens_before) {
    for (std::size_t region = 0; region < cluster_.regions(); ++region) watcher_.set_silent(region, true);
    for (std::size_t region = 0; region < cluster_.regions(); ++region) {
      if (const int code = cluster_.stop_server(region); code != 0) {
        complain("the server of " + cluster_.config().regions[region] + " ended with " + std::to_string(code));
      }
    }
    Result<cli::OfflineReport> audit = cluster_.audit();
    if (!audit) return audit.error();
    run_.audit = std::move(*audit);
    Result<history::Report> history = cluster_.judge_histories();
    if (!history) return history.error();
    run_.history = std::move(*history);
    std::fprintf(stderr, "          %s\n", history::summary(run_.history).c_str());
    run_.tokens_per_second = static_cast<double>(run_.audit.tokens - tokens_before) / run_.seconds;
    return {};
  }

  // Starts again what ended by itself, so that the run goes on; it has failed all the same.
  void look_after_processes() {
    for (std::size_t region = 0; region < cluster_.regions(); ++region) {
      if (cluster_.server_fell(region)) {
        complain("the server of " + cluster_.config().regions[region] + " ended by itself");
        cluster_.start_server(region);
      }
      if (!ending_ && cluster_.worker_fell(region)) {
        complain("the worker of " + cluster_.config().regions[region] + " ended by itself");
        cluster_.start_worker(region);
      }
    }
  }

  void complain(std::string what) {
    std::fprintf(stderr, "          %s\n", what.c_str());
    run_.complaints.push_back(std::move(what));
  }

  Result<void> wait_until(const std::function<bool()>& condition, Duration limit, const std::string& otherwise) {
    const TimePoint asked = net::now();
    while (!condition()) {
      if (interrupted != 0) return Error{Errc::kClosed, "interrupted"};
      if (net::now() - asked > limit) {
        return Error{Errc::kTimedOut, "after " + std::to_string(static_cast<int>(to_seconds(limit))) +
                                          " s the cluster still " + otherwise + "\n" + state()};
      }
      look_after_processes();
      std::this_thread::sleep_for(kStep);
    }
    return {};
  }

  bool everywhere(const std::function<bool(const ShardSample&)>& holds) const {
    for (std::size_t region = 0; region < cluster_.regions(); ++region) {
      const std::optional<Sample> sample = watcher_.latest(region);
      if (!sample || sample->shards.empty() || !std::ranges::all_of(sample->shards, holds)) return false;
    }
    return true;
  }

  // Asked anew: what the watcher has may be older than the last acknowledgement.
  bool settled() const {
    std::vector<std::uint64_t> common;
    for (std::size_t region = 0; region < cluster_.regions(); ++region) {
      const std::optional<cli::ServerView> view = cluster_.ask(region, seconds(1));
      if (!view || view->shards.empty()) return false;
      std::vector<std::uint64_t> versions;
      for (const cli::ShardView& shard : view->shards) {
        if (shard.outbox_items > 0 || shard.watermark != shard.version) return false;
        versions.push_back(shard.version);
      }
      if (!common.empty() && versions != common) return false;
      common = std::move(versions);
    }
    return true;
  }

  bool hashes_equal() const {
    for (std::uint32_t shard = 0; shard < cluster_.config().run.shards; ++shard) {
      const std::string target = "/api/v1/shards/" + std::to_string(shard) + "/hashes";
      const std::string first = cluster_.get(0, target);
      for (std::size_t region = 0; region < cluster_.regions(); ++region) {
        if (first.empty() || cluster_.get(region, target) != first) return false;
      }
    }
    return true;
  }

  std::uint64_t tokens() const {
    std::uint64_t most = 0;
    for (std::size_t region = 0; region < cluster_.regions(); ++region) {
      const std::optional<Sample> sample = watcher_.latest(region);
      if (sample && !sample->shards.empty()) most = std::max(most, sample->shards.front().tokens);
    }
    return most;
  }

  std::vector<Usage> usage() const {
    std::vector<Usage> all;
    for (std::size_t region = 0; region < cluster_.regions(); ++region) {
      all.push_back(usage_of(cluster_.server_process(region)));
    }
    return all;
  }

  void note_growth(const std::vector<Usage>& before) {
    const std::vector<Usage> now = usage();
    for (std::size_t region = 0; region < cluster_.regions(); ++region) {
      run_.growth[cluster_.config().regions[region]] = {now[region].resident_bytes / before[region].resident_bytes,
                                                        now[region].descriptors - before[region].descriptors};
    }
  }

  std::string state() const {
    std::string text;
    for (std::size_t region = 0; region < cluster_.regions(); ++region) {
      text += cluster_.config().regions[region] + ": " + cluster_.get(region, "/api/v1/status") + "\n";
    }
    return text + cluster_.logs();
  }

  ChaosCluster& cluster_;
  Watcher watcher_;
  ChaosRun run_;
  bool ending_ = false;
};

Result<ChaosRun> run_once(const ChaosPlan& plan, std::vector<PlannedFault> faults) {
  Result<std::unique_ptr<ChaosCluster>> cluster = ChaosCluster::create(plan.directory);
  if (!cluster) return cluster.error();
  Result<ChaosRun> run = Course(**cluster).run(plan.duration / 2, std::move(faults));
  if (!(run && flawless(*run)) && interrupted == 0) {
    std::fprintf(stderr, "stores and logs are kept in %s\n", (*cluster)->keep().c_str());
  }
  return run;
}

}  // namespace

bool ChaosFigures::passed() const { return flawless(alone) && flawless(faulty); }

Result<ChaosFigures> measure_chaos(const ChaosPlan& plan) {
  const SignalNote note;
  std::fprintf(stderr, "without faults, for %.0f s\n", to_seconds(plan.duration / 2));
  Result<ChaosRun> alone = run_once(plan, {});
  if (!alone) return alone.error();
  std::fprintf(stderr, "with faults, seed %llu\n", static_cast<unsigned long long>(plan.seed));
  Result<ChaosRun> faulty = run_once(plan, plan_faults(plan.seed, plan.duration / 2, RunConfig().lease));
  if (!faulty) return faulty.error();
  return ChaosFigures{std::move(*alone), std::move(*faulty)};
}

}  // namespace godwit::bench
