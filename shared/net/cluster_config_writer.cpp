#include <array>
#include <charconv>

#include "shared/net/cluster_config.h"
#include "shared/net/units.h"

namespace godwit {
namespace {

std::string in_quotes(std::string_view text) { return '"' + std::string(text) + '"'; }
// The shortest text that is read as the same value.
std::string number(double value) {
  std::array<char, 32> digits;
  const auto end = std::to_chars(digits.data(), digits.data() + digits.size(), value).ptr;
  const std::string text(digits.data(), end);
  return text.find_first_of(".e") == std::string::npos ? text + ".0" : text;
}

// Lines of "key = value  # meaning"; what has its default is there, commented.
class Lines {
 public:
  void section(const std::string& title, const std::string& meaning) {
    text_ += "\n" + (meaning.empty() ? "" : "# " + meaning + "\n") + title + "\n";
  }
  void line(const std::string& key, const std::string& value, const std::string& meaning = "") {
    std::string text = key + " = " + value;
    constexpr std::size_t kMeaningColumn = 36;
    if (!meaning.empty()) {
      text.resize(std::max(text.size() + 1, kMeaningColumn), ' ');
      text += "# " + meaning;
    }
    text_ += text + "\n";
  }
  void option(const std::string& key, const std::string& value, const std::string& usual,
              const std::string& meaning) {
    line((value == usual ? "# " : "") + key, value, meaning);
  }
  void comment(const std::string& text) { text_ += "# " + text + "\n"; }
  const std::string& text() const { return text_; }

 private:
  std::string text_;
};

void write_servers(Lines& lines, const ClusterConfig& config) {
  for (const ServerConfig& server : config.servers) {
    lines.section("[[server]]", "");
    lines.line("name", in_quotes(server.name));
    lines.line("region", in_quotes(server.region));
    lines.line("data", in_quotes(to_string(server.data)),
               "TLS: workers of this region, other servers");
    lines.line("admin", in_quotes(to_string(server.admin)), "HTTP: probes, metrics, godwit");
    if (server.admin_beyond_loopback) lines.line("admin_beyond_loopback", "true");
  }
}

void write_run(Lines& lines, const RunConfig& run, const std::vector<std::string>& regions) {
  const RunConfig usual;
  std::string leaders;
  for (const RegionId region : run.leaders)
    leaders += (leaders.empty() ? "" : ", ") + in_quotes(regions[region.value()]);
  lines.section("[run]", "Commented lines are the defaults.");
  const auto count = [&](const char* key, std::uint32_t value, std::uint32_t normally,
                         const char* meaning) {
    lines.option(key, std::to_string(value), std::to_string(normally), meaning);
  };
  const auto time = [&](const char* key, Duration value, Duration normally, const char* meaning) {
    lines.option(key, in_quotes(format_duration(value)), in_quotes(format_duration(normally)),
                 meaning);
  };
  const auto codec = [&](const char* key, CodecSpec value, CodecSpec normally,
                         const char* meaning) {
    lines.option(key, in_quotes(to_string(value)), in_quotes(to_string(normally)), meaning);
  };
  const auto fraction = [&](const char* key, double value, double normally, const char* meaning) {
    lines.option(key, number(value), number(normally), meaning);
  };
  lines.line("shards", std::to_string(run.shards),
             "contiguous parts of the model; each has its own log");
  lines.line("leaders", "[" + leaders + "]", "region that commits, per shard");
  count("block_parameters", run.block_parameters, usual.block_parameters,
        "unit of encoding and hashing");
  lines.option("ack", in_quotes(name(run.ack)), in_quotes(name(usual.ack)),
               "memory, region, committed or replicated");
  codec("lan_codec", run.lan_codec, usual.lan_codec, "worker to server: fp32 or bf16");
  codec("contribution_codec", run.contribution_codec, usual.contribution_codec, "region to leader");
  codec("update_codec", run.update_codec, usual.update_codec, "leader to all");
  time("window_min", run.window_min, usual.window_min, "async: a round lasts 16 median steps,");
  time("window_max", run.window_max, usual.window_max, "clamped to these");
  time("grace", run.grace, usual.grace, "async: then a round goes on without the rest");
  time("sync_grace", run.sync_grace, usual.sync_grace, "sync: the same");
  time("lease", run.lease, usual.lease, "a region that is silent for so long is not live");
  count("sync_steps", run.sync_steps, usual.sync_steps, "sync: inner steps per round");
  count("max_local_steps", run.max_local_steps, usual.max_local_steps,
        "of a worker that hears nothing");
  fraction("sgd_learning_rate", run.sgd_learning_rate, usual.sgd_learning_rate,
           "outer optimizer, and");
  fraction("nesterov_learning_rate", run.nesterov_learning_rate, usual.nesterov_learning_rate,
           "the one with momentum,");
  fraction("nesterov_momentum", run.nesterov_momentum, usual.nesterov_momentum, "");
  count("nesterov_steps_min", run.nesterov_steps_min, usual.nesterov_steps_min,
        "from so many steps a round");
}

void write_link(Lines& lines, const LinkConfig& link) {
  lines.section("[link]", "Makes connections between regions slow, for development.");
  if (link.delay > Duration::zero())
    lines.line("delay", in_quotes(format_duration(link.delay)), "one way");
  else
    lines.comment("delay = \"40ms\"");
  if (link.bits_per_second > 0)
    lines.line("rate", in_quotes(format_rate(link.bits_per_second)));
  else
    lines.comment("rate = \"200Mbit/s\"");
}

void write_checkpoint(Lines& lines, const CheckpointConfig& checkpoint) {
  const CheckpointConfig usual;
  lines.section("[checkpoint]", "Whichever comes first; an operator's own ones are never removed.");
  lines.option("versions", std::to_string(checkpoint.versions), std::to_string(usual.versions),
               "from one to the next; 0: never");
  lines.option("interval", in_quotes(format_duration(checkpoint.interval)),
               in_quotes(format_duration(usual.interval)), "the same");
  lines.option("keep", std::to_string(checkpoint.keep), std::to_string(usual.keep), "newest ones that stay");
}

void write_limits(Lines& lines, const LimitsConfig& limits) {
  const LimitsConfig usual;
  const auto count = [&](const char* key, std::uint64_t value, std::uint64_t normally,
                         const char* meaning) {
    lines.option(key, std::to_string(value), std::to_string(normally), meaning);
  };
  const auto time = [&](const char* key, Duration value, Duration normally, const char* meaning) {
    lines.option(key, in_quotes(format_duration(value)), in_quotes(format_duration(normally)),
                 meaning);
  };
  const auto bytes = [&](const char* key, std::uint64_t value, std::uint64_t normally,
                         const char* meaning) {
    lines.option(key, in_quotes(format_bytes(value)), in_quotes(format_bytes(normally)), meaning);
  };
  lines.section("[limits]", "Full is an answer (overloaded, retry after), never growth.");
  time("ack_max_delay", limits.ack_max_delay, usual.ack_max_delay,
       "then what waits is journaled and acknowledged");
  time("retry_after", limits.retry_after, usual.retry_after, "what overloaded tells the worker");
  count("outbox_items_max", limits.outbox_items_max, usual.outbox_items_max,
        "per shard, not yet replicated");
  count("open_aggregates_max", limits.open_aggregates_max, usual.open_aggregates_max,
        "per shard: rounds at once");
  count("waiting_pulls_max", limits.waiting_pulls_max, usual.waiting_pulls_max, "per server");
  bytes("push_staging_bytes", limits.push_staging_bytes, usual.push_staging_bytes,
        "pushes being received");
  bytes("entry_cache_bytes", limits.entry_cache_bytes, usual.entry_cache_bytes,
        "per shard: newest entries in memory");
  bytes("pull_reply_bytes", limits.pull_reply_bytes, usual.pull_reply_bytes,
        "entries in one reply");
  count("log_retained_versions", limits.log_retained_versions, usual.log_retained_versions,
        "below the snapshot");
  count("snapshot_versions", limits.snapshot_versions, usual.snapshot_versions,
        "from one snapshot to the next");
}

}  // namespace

std::string write_cluster_config(const ClusterConfig& config) {
  Lines lines;
  lines.comment(
      "A Godwit cluster. Durations, sizes and rates have units; an unknown key is an error.");
  lines.comment("Certificates, data, logs and admin.token lie beside this file.");
  lines.section("[cluster]", "");
  lines.line("name", in_quotes(config.name), "in every certificate");
  lines.line("control", in_quotes(config.control), "server that hosts the control store");
  write_servers(lines, config);
  write_run(lines, config.run, config.regions);
  write_link(lines, config.link);
  write_checkpoint(lines, config.checkpoint);
  write_limits(lines, config.limits);
  return lines.text();
}

}  // namespace godwit
