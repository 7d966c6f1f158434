// The only place that reads TOML. A Section asks for the keys that it knows; what is left over is
// unknown.
#define TOML_EXCEPTIONS 0
#define TOML_HEADER_ONLY 1
// toml++ 3.3 asserts some of what it then checks: a file that begins with "[=" would end the process.
#define TOML_ASSERT(fact) static_assert(true)
#include <toml++/toml.h>

#include <algorithm>
#include <fstream>
#include <limits>
#include <optional>
#include <sstream>

#include "shared/net/cluster_config.h"
#include "shared/net/identity.h"
#include "shared/net/nearest_name.h"
#include "shared/net/units.h"
#include "shared/protocol/manifest.h"

namespace godwit {
namespace {

// The first complaint by its place in the file: what a person corrects first.
class Complaints {
 public:
  explicit Complaints(std::string_view path) : path_(path) {}

  void add(toml::source_position at, const std::string& text) {
    ++count_;
    if (first_ && std::pair(first_->line, first_->column) <= std::pair(at.line, at.column)) return;
    first_ = at;
    text_ = text;
  }
  bool none() const { return count_ == 0; }
  Error error() const {
    std::string where = path_;
    if (first_->line > 0)
      where += ":" + std::to_string(first_->line) + ":" + std::to_string(first_->column);
    const std::string more = count_ > 1 ? " (and " + std::to_string(count_ - 1) + " more)" : "";
    return Error{Errc::kConfig, where + ": " + text_ + more};
  }

 private:
  std::string path_;
  std::optional<toml::source_position> first_;
  std::string text_;
  std::size_t count_ = 0;
};

std::string in_quotes(std::string_view text) { return '"' + std::string(text) + '"'; }

// How a value is written in the file: also the valid example of every message.
std::string written(bool value) { return value ? "true" : "false"; }
std::string written(std::uint64_t value) { return std::to_string(value); }
std::string written(double value) {
  std::ostringstream out;
  out << value;
  const bool whole = out.str().find_first_of(".e") == std::string::npos;
  return out.str() + (whole ? ".0" : "");
}

std::string_view type_of(const toml::node& node) {
  switch (node.type()) {
    case toml::node_type::table:
      return "a table";
    case toml::node_type::array:
      return "a list";
    case toml::node_type::string:
      return "a string";
    case toml::node_type::integer:
      return "a number";
    case toml::node_type::floating_point:
      return "a number with a fraction";
    case toml::node_type::boolean:
      return "true or false";
    default:
      return "a date or time";
  }
}

class Section {
 public:
  // `table` may be null: every key has its default. `name` as in the file: "run".
  Section(Complaints& complaints, std::string name, const toml::table* table)
      : complaints_(complaints), name_(std::move(name)), table_(table) {}

  toml::source_position position() const {
    return table_ ? table_->source().begin : toml::source_position{};
  }
  toml::source_position position(std::string_view key) const {
    const toml::node* const node = table_ ? table_->get(key) : nullptr;
    return node ? node->source().begin : position();
  }
  void complain(std::string_view key, const std::string& text, const std::string& example) {
    complaints_.add(position(key), name_ + "." + std::string(key) + ": " + text + "; for example " +
                                       std::string(key) + " = " + example);
  }

  // Each reads `key` into `out`, which holds the default (and, shown in messages, the example).
  void read(std::string_view key, bool& out) {
    const toml::node* const node = take(key);
    if (node == nullptr) return;
    if (const auto value = node->value_exact<bool>())
      out = *value;
    else
      wrong_type(key, *node, "true or false", written(out));
  }
  template <std::unsigned_integral T>
  void read(std::string_view key, T& out, std::uint64_t min, std::uint64_t max) {
    const toml::node* const node = take(key);
    if (node == nullptr) return;
    const auto value = node->value_exact<std::int64_t>();
    if (!value) return wrong_type(key, *node, "a whole number", written(std::uint64_t{out}));
    if (*value < 0 || static_cast<std::uint64_t>(*value) < min ||
        static_cast<std::uint64_t>(*value) > max) {
      return complain(key,
                      std::to_string(*value) + " is not in " + std::to_string(min) + " .. " +
                          std::to_string(max),
                      written(std::uint64_t{out}));
    }
    out = static_cast<T>(*value);
  }
  void read(std::string_view key, double& out, double min, double max) {
    const toml::node* const node = take(key);
    if (node == nullptr) return;
    if (!node->is_number()) return wrong_type(key, *node, "a number", written(out));
    const double value = *node->value<double>();
    if (!(value >= min && value <= max)) {
      return complain(key, written(value) + " is not in " + written(min) + " .. " + written(max),
                      written(out));
    }
    out = value;
  }
  // Text with a meaning: `parse` gives Result<T>; `example` is a valid value.
  template <class T, class Parse>
  void read(std::string_view key, T& out, const std::string& example, Parse parse) {
    const toml::node* const node = take(key);
    if (node == nullptr) return;
    std::optional<std::string> value = node->value_exact<std::string>();
    // A bare number goes through the same parser, which says which unit it lacks.
    if (!value && node->is_number() && has_unit(example)) value = number_text(*node);
    if (!value) return wrong_type(key, *node, "a string", in_quotes(example));
    auto parsed = parse(*value);
    if (!parsed) return complain(key, parsed.error().context, in_quotes(example));
    out = std::move(*parsed);
  }
  void read(std::string_view key, Duration& out, Duration min, Duration max) {
    const Duration usual = out > Duration::zero() ? out : milliseconds(40);
    read(key, out, format_duration(usual), [&](const std::string& text) -> Result<Duration> {
      const auto value = parse_duration(text);
      if (!value || (*value >= min && *value <= max)) return value;
      return Error{Errc::kConfig, in_quotes(text) + " is not in " + format_duration(min) + " .. " +
                                      format_duration(max)};
    });
  }
  void read_bytes(std::string_view key, std::uint64_t& out, std::uint64_t min) {
    read(key, out, format_bytes(out), [&](const std::string& text) -> Result<std::uint64_t> {
      const auto value = parse_bytes(text);
      if (!value || *value >= min) return value;
      return Error{Errc::kConfig, in_quotes(text) + " is less than " + format_bytes(min)};
    });
  }
  void require(std::string_view key, const std::string& example) {
    if (table_ == nullptr || table_->get(key) == nullptr)
      missing_.push_back({std::string(key), example});
  }
  const toml::array* read_list(std::string_view key, const std::string& example) {
    const toml::node* const node = take(key);
    if (node == nullptr) return nullptr;
    if (!node->is_array()) wrong_type(key, *node, "a list", example);
    return node->as_array();
  }
  const toml::node* take(std::string_view key) {
    known_.emplace_back(key);
    return table_ ? table_->get(key) : nullptr;
  }

  // After all reads: unknown keys, then (a misspelled key is not missing) absent ones.
  void finish() {
    if (table_ != nullptr && has_unknown_keys()) return;
    for (const auto& [key, example] : missing_) complain(key, "missing", example);
  }

 private:
  bool has_unknown_keys() {
    bool unknown = false;
    for (auto&& [key, node] : *table_) {
      const std::string written_key(key.str());
      if (std::ranges::find(known_, written_key) != known_.end()) continue;
      unknown = true;
      const std::string nearest = nearest_name(written_key, known_);
      std::string all;
      for (const std::string& name : known_) all += (all.empty() ? "" : ", ") + name;
      complaints_.add(key.source().begin,
                      (name_.empty() ? "" : name_ + ".") + written_key + ": unknown key" +
                          (nearest.empty() ? "; known are " + all
                                           : "; did you mean " + in_quotes(nearest) + "?"));
    }
    return unknown;
  }
  void wrong_type(std::string_view key, const toml::node& node, std::string_view wanted,
                  const std::string& example) {
    complain(key, "needs " + std::string(wanted) + ", not " + std::string(type_of(node)), example);
  }
  static bool has_unit(const std::string& example) {
    return example.find_first_of("0123456789") == 0 &&
           example.find_first_of(":.") == std::string::npos;
  }
  static std::string number_text(const toml::node& node) {
    if (const auto whole = node.value_exact<std::int64_t>()) return std::to_string(*whole);
    return written(*node.value<double>());
  }

  Complaints& complaints_;
  std::string name_;
  const toml::table* table_;
  std::vector<std::string> known_;
  std::vector<std::pair<std::string, std::string>> missing_;
};

Result<std::string> parse_name(const std::string& text) {
  const bool fits =
      !text.empty() && text.size() <= net::kMaxIdentityPart &&
      text.find_first_not_of("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-_") ==
          std::string::npos &&
      text.front() != '-';
  const bool reserved = text == "ca" || text == "operator";
  if (fits && !reserved) return text;
  if (reserved)
    return Error{Errc::kConfig, in_quotes(text) + " is taken: it names another certificate"};
  return Error{Errc::kConfig, in_quotes(text) + ": names are 1 to " +
                                  std::to_string(net::kMaxIdentityPart) +
                                  " letters, digits, - or _, and do not start with -"};
}

// Reads the whole file. Its order matters: leaders and control name servers and regions.
class Parser {
 public:
  Parser(const toml::table& root, std::string_view path) : complaints_(path), root_(root) {}

  Result<ClusterConfig> parse() {
    Section top(complaints_, "", &root_);
    Section cluster(complaints_, "cluster", table(top, "cluster"));
    const toml::node* const servers = top.take("server");
    Section run(complaints_, "run", table(top, "run"));
    Section link(complaints_, "link", table(top, "link"));
    Section checkpoint(complaints_, "checkpoint", table(top, "checkpoint"));
    Section limits(complaints_, "limits", table(top, "limits"));
    top.finish();
    read_servers(servers);
    read_cluster(cluster);
    read_run(run);
    read_link(link);
    read_checkpoint(checkpoint);
    read_limits(limits);
    if (!complaints_.none()) return complaints_.error();
    return std::move(config_);
  }

 private:
  const toml::table* table(Section& top, std::string_view name) {
    const toml::node* const node = top.take(name);
    if (node != nullptr && !node->is_table()) {
      complaints_.add(node->source().begin,
                      std::string(name) + ": needs a table: write [" + std::string(name) + "]");
    }
    return node ? node->as_table() : nullptr;
  }
  void read_servers(const toml::node* node);
  void read_server(Section& section);
  static void check_admin(Section& section, const ServerConfig& server);
  static void check_apart(Section& section, const ServerConfig& server, const ServerConfig& other);
  void read_cluster(Section& section);
  void read_run(Section& section);
  void read_leaders(Section& section);
  void read_link(Section& section);
  void read_checkpoint(Section& section);
  void read_limits(Section& section);

  Complaints complaints_;
  const toml::table& root_;
  ClusterConfig config_;
};

// Only comments may hold more than ASCII, and toml++ 3.3 is undefined on some of it: elsewhere a '?' is
// refused where it stands.
std::string only_ascii(std::string_view text) {
  constexpr std::string_view kByteOrderMark = "\xEF\xBB\xBF";
  if (text.starts_with(kByteOrderMark)) text.remove_prefix(kByteOrderMark.size());
  std::string ascii(text);
  std::ranges::replace_if(ascii, [](char c) { return static_cast<unsigned char>(c) > 0x7F; }, '?');
  return ascii;
}

void Parser::read_servers(const toml::node* node) {
  const toml::array* const list = node ? node->as_array() : nullptr;
  if (list == nullptr || list->empty() || !list->is_array_of_tables()) {
    complaints_.add(node ? node->source().begin : toml::source_position{},
                    "server: no servers: write one [[server]] for each region, with name, region, "
                    "data and admin");
    return;
  }
  for (const toml::node& item : *list) {
    Section section(complaints_, "server", item.as_table());
    read_server(section);
  }
}

void Parser::read_server(Section& section) {
  ServerConfig server;
  section.read("name", server.name, "us-west", parse_name);
  section.read("region", server.region, "us-west", parse_name);
  section.read("data", server.data, "127.0.0.1:7700", parse_host_port);
  section.read("admin", server.admin, "127.0.0.1:7780", parse_host_port);
  section.read("admin_beyond_loopback", server.admin_beyond_loopback);
  section.require("name", in_quotes("us-west"));
  section.require("region", in_quotes("us-west"));
  section.require("data", in_quotes("127.0.0.1:7700"));
  section.require("admin", in_quotes("127.0.0.1:7780"));
  section.finish();
  check_admin(section, server);
  for (const ServerConfig& other : config_.servers) check_apart(section, server, other);
  server.region_id = RegionId(static_cast<std::uint32_t>(config_.regions.size()));
  config_.regions.push_back(server.region);
  config_.servers.push_back(std::move(server));
}

void Parser::check_admin(Section& section, const ServerConfig& server) {
  if (server.admin.port == 0) return;  // missing, or said already
  const std::string example = in_quotes("127.0.0.1:7780");
  if (!server.admin.is_loopback() && !server.admin_beyond_loopback) {
    section.complain("admin",
                     in_quotes(server.admin.host) +
                         " is reached by other machines, in the clear; if that " +
                         "is meant, add admin_beyond_loopback = true",
                     example);
  }
  if (server.data == server.admin)
    section.complain("admin", "is the address of data, too", example);
}

void Parser::check_apart(Section& section, const ServerConfig& server, const ServerConfig& other) {
  if (other.name == server.name) {
    section.complain("name", in_quotes(server.name) + " is the name of another server",
                     in_quotes(server.name + "-2"));
  } else if (other.region == server.region) {
    section.complain("region",
                     in_quotes(server.region) + " has the server " + in_quotes(other.name) +
                         " already; for now a region has exactly one",
                     in_quotes(server.region + "-2"));
  }
  for (const HostPort& taken : {other.data, other.admin}) {
    if (taken.port == 0) continue;
    const std::string text = to_string(taken) + " is an address of " + in_quotes(other.name);
    if (taken == server.data) section.complain("data", text, in_quotes("127.0.0.1:7701"));
    if (taken == server.admin) section.complain("admin", text, in_quotes("127.0.0.1:7781"));
  }
}

void Parser::read_cluster(Section& section) {
  section.read("name", config_.name, "godwit", parse_name);
  const std::string example = config_.servers.empty() ? "us-west" : config_.servers.front().name;
  section.read(
      "control", config_.control, example, [&](const std::string& text) -> Result<std::string> {
        // Without all names, which one is wrong cannot be said.
        const bool unnamed = config_.servers.empty() || config_.find_server("") != nullptr;
        if (unnamed || config_.find_server(text) != nullptr) return text;
        std::vector<std::string> names;
        for (const ServerConfig& server : config_.servers) names.push_back(server.name);
        const std::string nearest = nearest_name(text, names);
        return Error{Errc::kConfig,
                     "no [[server]] has the name " + in_quotes(text) +
                         (nearest.empty() ? "" : "; did you mean " + in_quotes(nearest) + "?")};
      });
  section.require("name", in_quotes("godwit"));
  section.require("control", in_quotes(example));
  section.finish();
}

void Parser::read_run(Section& section) {
  RunConfig& run = config_.run;
  constexpr std::uint64_t kMany = std::numeric_limits<std::uint32_t>::max();
  const auto hour = std::chrono::hours(1);
  section.read("shards", run.shards, 1, kMaxShards);
  section.read("block_parameters", run.block_parameters, 1, kMaxBlockParameters);
  section.read("ack", run.ack, "region",
               [](const std::string& text) { return parse_acknowledgement(text); });
  section.read(
      "lan_codec", run.lan_codec, "fp32", [](const std::string& text) -> Result<CodecSpec> {
        const auto codec = parse_codec(text);
        if (!codec || codec->id == CodecId::kFp32 || codec->id == CodecId::kBf16) return codec;
        return Error{
            Errc::kConfig,
            in_quotes(text) + " loses too much before regions sum: fp32 or bf16, optionally +zstd"};
      });
  section.read("contribution_codec", run.contribution_codec, "int8+zstd", parse_codec);
  section.read("update_codec", run.update_codec, "int8+zstd", parse_codec);
  section.read("window_min", run.window_min, milliseconds(1), hour);
  section.read("window_max", run.window_max, milliseconds(1), hour);
  section.read("grace", run.grace, milliseconds(1), hour);
  section.read("sync_grace", run.sync_grace, milliseconds(1), hour);
  section.read("lease", run.lease, milliseconds(100), hour);
  section.read("sync_steps", run.sync_steps, 1, kMany);
  section.read("max_local_steps", run.max_local_steps, 1, kMany);
  section.read("sgd_learning_rate", run.sgd_learning_rate, 0.0, 100.0);
  section.read("nesterov_learning_rate", run.nesterov_learning_rate, 0.0, 100.0);
  section.read("nesterov_momentum", run.nesterov_momentum, 0.0, 0.999);
  section.read("nesterov_steps_min", run.nesterov_steps_min, 1, kMany);
  read_leaders(section);
  section.finish();
  if (run.window_min > run.window_max) {
    section.complain("window_min",
                     "is longer than window_max, " + in_quotes(format_duration(run.window_max)),
                     in_quotes(format_duration(run.window_max)));
  }
}

void Parser::read_leaders(Section& section) {
  RunConfig& run = config_.run;
  if (config_.regions.empty()) {
    section.take("leaders");
    return;
  }
  std::string example;
  for (std::uint32_t shard = 0; shard < std::min(run.shards, 8U); ++shard) {
    example += (shard > 0 ? ", " : "") + in_quotes(config_.regions[shard % config_.regions.size()]);
  }
  example = "[" + example + (run.shards > 8 ? ", ...]" : "]");
  const toml::array* const list = section.read_list("leaders", example);
  if (list == nullptr) {
    if (config_.find_server(config_.control) != nullptr)
      run.leaders = default_leaders(config_, run.shards);
    return;
  }
  for (const toml::node& item : *list) {
    const auto region = item.value_exact<std::string>();
    const auto found = std::ranges::find(config_.regions, region.value_or(""));
    if (!region || found == config_.regions.end()) {
      const std::string nearest = nearest_name(region.value_or(""), config_.regions);
      section.complain("leaders",
                       (region ? in_quotes(*region) : "an item") + " is no region of a [[server]]" +
                           (nearest.empty() ? "" : "; did you mean " + in_quotes(nearest) + "?"),
                       example);
      return;
    }
    run.leaders.emplace_back(static_cast<std::uint32_t>(found - config_.regions.begin()));
  }
  if (run.leaders.size() != run.shards) {
    section.complain("leaders",
                     "names " + std::to_string(run.leaders.size()) + " regions for " +
                         std::to_string(run.shards) + " shards",
                     example);
  }
}

void Parser::read_link(Section& section) {
  section.read("delay", config_.link.delay, Duration::zero(), seconds(10));
  section.read("rate", config_.link.bits_per_second, "200Mbit/s", parse_rate);
  section.finish();
}

void Parser::read_checkpoint(Section& section) {
  CheckpointConfig& checkpoint = config_.checkpoint;
  constexpr std::uint64_t kNever = 0;
  constexpr std::uint64_t kMany = std::numeric_limits<std::uint32_t>::max();
  section.read("versions", checkpoint.versions, kNever, kMany);
  section.read("interval", checkpoint.interval, Duration::zero(), std::chrono::hours(24 * 30));
  section.read("keep", checkpoint.keep, 1, 32);
  section.finish();
}

void Parser::read_limits(Section& section) {
  LimitsConfig& limits = config_.limits;
  constexpr std::uint64_t kMany = std::numeric_limits<std::uint32_t>::max();
  constexpr std::uint64_t kMebibyte = 1ULL << 20;
  section.read("ack_max_delay", limits.ack_max_delay, milliseconds(1), seconds(600));
  section.read("retry_after", limits.retry_after, milliseconds(1), seconds(600));
  section.read("outbox_items_max", limits.outbox_items_max, 1, kMany);
  section.read("open_aggregates_max", limits.open_aggregates_max, 1, 64);
  section.read("waiting_pulls_max", limits.waiting_pulls_max, 1, kMany);
  section.read_bytes("push_staging_bytes", limits.push_staging_bytes, kMebibyte);
  section.read_bytes("entry_cache_bytes", limits.entry_cache_bytes, kMebibyte);
  section.read_bytes("pull_reply_bytes", limits.pull_reply_bytes, kMebibyte);
  section.read("log_retained_versions", limits.log_retained_versions, 1, kMany);
  section.read("snapshot_versions", limits.snapshot_versions, 1, kMany);
  section.finish();
}

}  // namespace

Result<ClusterConfig> parse_cluster_config(std::string_view text, std::string_view path) {
  const toml::parse_result parsed = toml::parse(only_ascii(text), path);
  if (!parsed) {
    const auto at = parsed.error().source().begin;
    return Error{Errc::kConfig, std::string(path) + ":" + std::to_string(at.line) + ":" +
                                    std::to_string(at.column) +
                                    ": not TOML: " + std::string(parsed.error().description())};
  }
  return Parser(parsed.table(), path).parse();
}

Result<ClusterConfig> load_cluster_config(const std::filesystem::path& file) {
  std::error_code error;
  if (!std::filesystem::exists(file, error)) {
    const std::string folder = file.has_parent_path() ? file.parent_path().string() : ".";
    return Error{Errc::kNotFound, file.string() +
                                      " does not exist: make a cluster with `godwit init " +
                                      folder + "`, or name its folder with -C"};
  }
  std::ifstream in(file, std::ios::binary);
  std::ostringstream text;
  text << in.rdbuf();
  if (!in) return Error{Errc::kIo, file.string() + " cannot be read: check its permissions"};
  auto config = parse_cluster_config(text.str(), file.string());
  if (config)
    config->folder = file.has_parent_path() ? file.parent_path() : std::filesystem::path(".");
  return config;
}

}  // namespace godwit
