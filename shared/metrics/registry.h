// Registry: every number that a server process exposes on /metrics, one typed function each, so
// that a metric cannot be misnamed, given another label, or left without help. Thread-safe;
// functions take well under 1 us. No label is a worker or a tensor: their number has no bound.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

#include "shared/base/strong_id.h"
#include "shared/base/time.h"

namespace godwit::metrics {

// Labels that every series of this process shares, and what is constant about it.
struct ProcessIdentity {
  std::string run;     // the cluster's run
  std::string region;  // of this server
  std::string version;
  std::string revision;
  std::string compiler;
  std::string wire_version;
};

enum class PushResult : std::uint8_t { kApplied, kDuplicate, kStale, kRejected, kOverload, kError };
enum class PullResult : std::uint8_t { kFull, kDelta, kNotModified, kError };
enum class RoundResult : std::uint8_t { kCommitted, kPartial, kAborted };
enum class PayloadStage : std::uint8_t { kWire, kDecoded };
enum class Direction : std::uint8_t { kEncode, kDecode };

class Registry {
 public:
  explicit Registry(const ProcessIdentity& identity);
  ~Registry();
  Registry(const Registry&) = delete;
  Registry& operator=(const Registry&) = delete;

  // Events: count one more.
  void push_request(ShardId shard, PushResult result);
  void push_bytes(ShardId shard, std::string_view codec, PayloadStage stage, std::uint64_t bytes);
  void push_staleness(double rounds);
  void pull_request(ShardId shard, PullResult result);
  void update_clipped(std::string_view region);
  void update_nonfinite(std::string_view region);
  void round(RoundResult result);
  void codec_bytes(std::string_view codec, Direction direction, std::uint64_t input_bytes,
                   std::uint64_t output_bytes);
  void log_sync(Duration duration);
  void link_rtt(std::string_view to_region, Duration rtt);
  void link_reconnect(std::string_view to_region, std::string_view reason);
  void http_request(std::string_view route, std::string_view method, int status, Duration duration);
  void auth_failure(std::string_view reason);
  void error(std::string_view code);  // GODWIT-Ennnn

  // States: replace what was there.
  void set_ready(std::string_view check, bool ok);
  void set_workers(std::string_view state, std::uint64_t count);
  void set_shard(ShardId shard, Version version, std::uint64_t parameters, bool leads);
  void set_region_lag(std::string_view region, std::uint64_t versions);
  void set_link_up(std::string_view to_region, bool up);
  // Totals since the process started, as the link counts them; a smaller total than before changes
  // nothing.
  void set_link_bytes(std::string_view to_region, std::string_view traffic_class,
                      std::uint64_t sent_bytes, std::uint64_t received_bytes);

  // Everything, in Prometheus text format 0.0.4. Reads the process's own numbers first.
  std::string expose();

 private:
  struct Families;
  std::unique_ptr<Families> families_;
};

}  // namespace godwit::metrics
