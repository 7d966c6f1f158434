#include "shared/metrics/registry.h"

#include <prometheus/counter.h>
#include <prometheus/gauge.h>
#include <prometheus/histogram.h>
#include <prometheus/registry.h>
#include <prometheus/text_serializer.h>

#include <chrono>
#include <mutex>

#include "shared/metrics/process_numbers.h"

namespace godwit::metrics {
namespace {

using prometheus::Counter;
using prometheus::Gauge;
using prometheus::Histogram;
using Buckets = Histogram::BucketBoundaries;

std::string_view name(PushResult result) {
  switch (result) {
    case PushResult::kApplied:
      return "applied";
    case PushResult::kDuplicate:
      return "duplicate";
    case PushResult::kStale:
      return "stale";
    case PushResult::kRejected:
      return "rejected";
    case PushResult::kOverload:
      return "overload";
    case PushResult::kError:
      return "error";
  }
  return "error";
}

std::string_view name(PullResult result) {
  switch (result) {
    case PullResult::kFull:
      return "full";
    case PullResult::kDelta:
      return "delta";
    case PullResult::kNotModified:
      return "not_modified";
    case PullResult::kError:
      return "error";
  }
  return "error";
}

std::string_view name(RoundResult result) {
  switch (result) {
    case RoundResult::kCommitted:
      return "committed";
    case RoundResult::kPartial:
      return "partial";
    case RoundResult::kAborted:
      return "aborted";
  }
  return "aborted";
}

Buckets second_buckets() {
  return {0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 25, 60};
}
Buckets round_buckets() { return {0, 0.5, 1, 2, 4, 8, 16, 32, 64, 128, 256}; }

// Brings a counter up to a total that somebody else counts. REQUIRES: one caller at a time.
void raise_to(Counter& counter, double total) {
  if (total > counter.Value()) counter.Increment(total - counter.Value());
}

}  // namespace

struct Registry::Families {
  explicit Families(ProcessIdentity who) : identity(std::move(who)) {}

  prometheus::Family<Counter>& counter(const char* name, const char* help) {
    return prometheus::BuildCounter().Name(name).Help(help).Register(registry);
  }
  prometheus::Family<Gauge>& gauge(const char* name, const char* help) {
    return prometheus::BuildGauge().Name(name).Help(help).Register(registry);
  }
  prometheus::Family<Histogram>& histogram(const char* name, const char* help) {
    return prometheus::BuildHistogram().Name(name).Help(help).Register(registry);
  }
  prometheus::Labels link(std::string_view to_region) const {
    return {{"src", identity.region}, {"dst", std::string(to_region)}};
  }

  const ProcessIdentity identity;
  std::mutex totals;  // guards raise_to()
  prometheus::Registry registry;

  prometheus::Family<Gauge>& build_info =
      gauge("godwit_build_info", "Constant 1; identity of the running binary.");
  prometheus::Family<Gauge>& start_time =
      gauge("godwit_process_start_time_seconds", "Unix time at which the process started.");
  prometheus::Family<Gauge>& ready =
      gauge("godwit_ready", "1 if this readiness check passes; one series per check.");
  prometheus::Family<Gauge>& workers =
      gauge("godwit_workers", "Workers by state (joining,active,lagging,draining,lost).");
  prometheus::Family<Counter>& push_requests =
      counter("godwit_push_requests_total",
              "Push requests (applied,duplicate,stale,rejected,overload,error).");
  prometheus::Family<Counter>& push_bytes =
      counter("godwit_push_bytes_total", "Push payload bytes (stage=wire|decoded).");
  prometheus::Family<Histogram>& push_staleness =
      histogram("godwit_push_staleness_rounds",
                "Weight committed between the base of a push and its application, in rounds.");
  prometheus::Family<Counter>& pull_requests =
      counter("godwit_pull_requests_total", "Pull requests (full,delta,not_modified,error).");
  prometheus::Family<Gauge>& shard_version =
      gauge("godwit_shard_version", "Latest committed version of the shard.");
  prometheus::Family<Gauge>& shard_parameters =
      gauge("godwit_shard_parameters", "Parameters held by the shard.");
  prometheus::Family<Gauge>& shard_role =
      gauge("godwit_shard_role", "1 for the role this replica has (leader,follower).");
  prometheus::Family<Counter>& clipped =
      counter("godwit_update_clipped_total", "Deltas clipped by norm.");
  prometheus::Family<Counter>& nonfinite =
      counter("godwit_update_nonfinite_total", "Deltas rejected for NaN or Inf.");
  prometheus::Family<Counter>& rounds =
      counter("godwit_rounds_total", "Outer rounds (committed,partial,aborted).");
  prometheus::Family<Gauge>& region_lag =
      gauge("godwit_region_version_lag", "Versions a region's replica is behind the newest.");
  prometheus::Family<Gauge>& link_up = gauge("godwit_link_up", "1 if the link is usable.");
  prometheus::Family<Histogram>& link_rtt =
      histogram("godwit_link_rtt_seconds", "Round-trip time measured by heartbeats.");
  prometheus::Family<Counter>& link_sent = counter(
      "godwit_link_sent_bytes_total", "Bytes sent (class=delta|weights|control|retransmit).");
  prometheus::Family<Counter>& link_received =
      counter("godwit_link_received_bytes_total", "Bytes received.");
  prometheus::Family<Counter>& link_reconnects =
      counter("godwit_link_reconnects_total", "Reconnections.");
  prometheus::Family<Counter>& codec_input =
      counter("godwit_codec_input_bytes_total", "Bytes before compression.");
  prometheus::Family<Counter>& codec_output =
      counter("godwit_codec_output_bytes_total", "Bytes after compression.");
  prometheus::Family<Histogram>& log_sync =
      histogram("godwit_wal_fsync_duration_seconds", "Write-ahead log fsync time.");
  prometheus::Family<Counter>& http_requests =
      counter("godwit_http_requests_total", "REST requests; route is the template.");
  prometheus::Family<Histogram>& http_duration =
      histogram("godwit_http_request_duration_seconds", "REST request duration.");
  prometheus::Family<Counter>& auth_failures =
      counter("godwit_auth_failures_total", "Failed authentications.");
  prometheus::Family<Counter>& errors =
      counter("godwit_errors_total", "Errors by GODWIT-Ennnn code.");
  prometheus::Family<Counter>& cpu =
      counter("process_cpu_seconds_total", "User and system CPU time.");
  prometheus::Family<Gauge>& memory = gauge("process_resident_memory_bytes", "Resident memory.");
  prometheus::Family<Gauge>& open_files = gauge("process_open_fds", "Open file descriptors.");
  prometheus::Family<Gauge>& max_files = gauge("process_max_fds", "Maximum open file descriptors.");
  prometheus::Family<Gauge>& threads = gauge("process_threads", "Threads.");
};

Registry::Registry(const ProcessIdentity& identity)
    : families_(std::make_unique<Families>(identity)) {
  families_->build_info
      .Add({{"version", identity.version},
            {"revision", identity.revision},
            {"compiler", identity.compiler},
            {"wire_version", identity.wire_version}})
      .Set(1);
  const auto now = std::chrono::system_clock::now().time_since_epoch();
  families_->start_time.Add({}).Set(std::chrono::duration<double>(now).count());
}

Registry::~Registry() = default;

void Registry::push_request(ShardId shard, PushResult result) {
  families_->push_requests.Add({{"shard", to_string(shard)}, {"result", std::string(name(result))}})
      .Increment();
}

void Registry::push_bytes(ShardId shard, std::string_view codec, PayloadStage stage,
                          std::uint64_t bytes) {
  const char* const stage_name = stage == PayloadStage::kWire ? "wire" : "decoded";
  families_->push_bytes
      .Add({{"shard", to_string(shard)}, {"codec", std::string(codec)}, {"stage", stage_name}})
      .Increment(static_cast<double>(bytes));
}

void Registry::push_staleness(double rounds) {
  families_->push_staleness
      .Add({{"run", families_->identity.run}, {"region", families_->identity.region}},
           round_buckets())
      .Observe(rounds);
}

void Registry::pull_request(ShardId shard, PullResult result) {
  families_->pull_requests.Add({{"shard", to_string(shard)}, {"result", std::string(name(result))}})
      .Increment();
}

void Registry::update_clipped(std::string_view region) {
  families_->clipped.Add({{"run", families_->identity.run}, {"region", std::string(region)}})
      .Increment();
}

void Registry::update_nonfinite(std::string_view region) {
  families_->nonfinite.Add({{"run", families_->identity.run}, {"region", std::string(region)}})
      .Increment();
}

void Registry::round(RoundResult result) {
  families_->rounds.Add({{"run", families_->identity.run}, {"result", std::string(name(result))}})
      .Increment();
}

void Registry::codec_bytes(std::string_view codec, Direction direction, std::uint64_t input_bytes,
                           std::uint64_t output_bytes) {
  const prometheus::Labels labels = {
      {"codec", std::string(codec)},
      {"direction", direction == Direction::kEncode ? "encode" : "decode"}};
  families_->codec_input.Add(labels).Increment(static_cast<double>(input_bytes));
  families_->codec_output.Add(labels).Increment(static_cast<double>(output_bytes));
}

void Registry::log_sync(Duration duration) {
  families_->log_sync.Add({}, second_buckets()).Observe(to_seconds(duration));
}

void Registry::link_rtt(std::string_view to_region, Duration rtt) {
  families_->link_rtt.Add(families_->link(to_region), second_buckets()).Observe(to_seconds(rtt));
}

void Registry::link_reconnect(std::string_view to_region, std::string_view reason) {
  prometheus::Labels labels = families_->link(to_region);
  labels.emplace("reason", reason);
  families_->link_reconnects.Add(labels).Increment();
}

void Registry::http_request(std::string_view route, std::string_view method, int status,
                            Duration duration) {
  const prometheus::Labels labels = {{"route", std::string(route)},
                                     {"method", std::string(method)}};
  families_->http_duration.Add(labels, second_buckets()).Observe(to_seconds(duration));
  prometheus::Labels counted = labels;
  counted.emplace("code", std::to_string(status));
  families_->http_requests.Add(counted).Increment();
}

void Registry::auth_failure(std::string_view reason) {
  families_->auth_failures.Add({{"reason", std::string(reason)}}).Increment();
}

void Registry::error(std::string_view code) {
  families_->errors.Add({{"code", std::string(code)}}).Increment();
}

void Registry::set_ready(std::string_view check, bool ok) {
  families_->ready.Add({{"check", std::string(check)}}).Set(ok ? 1 : 0);
}

void Registry::set_workers(std::string_view state, std::uint64_t count) {
  families_->workers
      .Add({{"run", families_->identity.run},
            {"region", families_->identity.region},
            {"state", std::string(state)}})
      .Set(static_cast<double>(count));
}

void Registry::set_shard(ShardId shard, Version version, std::uint64_t parameters, bool leads) {
  const prometheus::Labels labels = {{"run", families_->identity.run}, {"shard", to_string(shard)}};
  families_->shard_version.Add(labels).Set(static_cast<double>(version.value()));
  families_->shard_parameters.Add(labels).Set(static_cast<double>(parameters));
  families_->shard_role.Add({{"shard", to_string(shard)}, {"role", "leader"}}).Set(leads ? 1 : 0);
  families_->shard_role.Add({{"shard", to_string(shard)}, {"role", "follower"}}).Set(leads ? 0 : 1);
}

void Registry::set_region_lag(std::string_view region, std::uint64_t versions) {
  families_->region_lag.Add({{"run", families_->identity.run}, {"region", std::string(region)}})
      .Set(static_cast<double>(versions));
}

void Registry::set_link_up(std::string_view to_region, bool up) {
  families_->link_up.Add(families_->link(to_region)).Set(up ? 1 : 0);
}

void Registry::set_link_bytes(std::string_view to_region, std::string_view traffic_class,
                              std::uint64_t sent_bytes, std::uint64_t received_bytes) {
  prometheus::Labels labels = families_->link(to_region);
  labels.emplace("class", traffic_class);
  const std::lock_guard lock(families_->totals);
  raise_to(families_->link_sent.Add(labels), static_cast<double>(sent_bytes));
  raise_to(families_->link_received.Add(labels), static_cast<double>(received_bytes));
}

std::string Registry::expose() {
  const ProcessNumbers numbers = read_process_numbers();
  {
    const std::lock_guard lock(families_->totals);
    raise_to(families_->cpu.Add({}), numbers.cpu_seconds);
  }
  families_->memory.Add({}).Set(numbers.resident_bytes);
  families_->open_files.Add({}).Set(numbers.open_files);
  families_->max_files.Add({}).Set(numbers.max_open_files);
  families_->threads.Add({}).Set(numbers.threads);
  return prometheus::TextSerializer().Serialize(families_->registry.Collect());
}

}  // namespace godwit::metrics
