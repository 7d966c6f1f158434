#include "server/cli/cluster_view.h"

#include <algorithm>
#include <future>

#include "server/cli/admin_client.h"
#include "server/cli/json_fields.h"

namespace godwit::cli {
namespace {

ShardView parse_shard(const boost::json::value& value) {
  const JsonFields in(value);
  ShardView shard;
  shard.shard = static_cast<std::uint32_t>(in.number("shard"));
  shard.leads = in.flag("leads");
  shard.leader_region = in.text("leader_region");
  for (const boost::json::value& region : in.list("in_sync")) {
    if (region.is_string()) shard.in_sync.emplace_back(region.as_string().data(), region.as_string().size());
  }
  shard.version = in.number("version");
  shard.watermark = in.number("watermark");
  shard.epoch = in.number("epoch");
  shard.round = in.number("round");
  shard.mode = in.text("mode");
  shard.mode_epoch = in.number("mode_epoch");
  shard.optimizer = in.text("optimizer");
  shard.restore_epoch = in.number("restore_epoch");
  shard.tokens = in.number("tokens");
  shard.parameters = in.number("parameters");
  shard.outbox_items = in.number("outbox_items");
  shard.waiting_for = in.text("waiting_for");
  return shard;
}

LinkView parse_link(const boost::json::value& value) {
  const JsonFields in(value);
  LinkView link;
  link.region = in.text("region");
  link.up = in.flag("up");
  link.rtt_seconds = in.real("rtt_seconds");
  for (const boost::json::value& item : in.list("traffic")) {
    link.sent_bytes += JsonFields(item).number("sent_bytes");
    link.received_bytes += JsonFields(item).number("received_bytes");
  }
  return link;
}

ServerView look_at_server(const ServerConfig& server, const std::string& token, Duration deadline) {
  ServerView view;
  const auto answer = AdminClient(server.admin, token).get("/api/v1/status", deadline);
  if (!answer) {
    view.fault = answer.error().context;
  } else if (answer->status != 200) {
    view.fault = failure_of(*answer).detail;
  } else if (auto parsed = parse_server_view(answer->body); !parsed) {
    view.fault = parsed.error().context;
  } else {
    view = std::move(*parsed);
    view.answers = true;
  }
  view.name = server.name;
  view.region = server.region;
  return view;
}

}  // namespace

std::uint64_t ServerView::wan_sent_bytes() const {
  std::uint64_t sum = 0;
  for (const LinkView& link : links) sum += link.sent_bytes;
  return sum;
}

std::uint64_t ServerView::wan_received_bytes() const {
  std::uint64_t sum = 0;
  for (const LinkView& link : links) sum += link.received_bytes;
  return sum;
}

Result<ServerView> parse_server_view(const std::string& json) {
  boost::json::error_code error;
  const boost::json::value parsed = boost::json::parse(json, error);
  const JsonFields in(parsed);
  if (error || in.text("schema") != "godwit.status/v1") {
    return Error{Errc::kMalformed, "what answers there is no godwit-server of this version"};
  }
  ServerView view;
  view.ready = in.flag("ready");
  view.program_version = in.text("version");
  view.up_seconds = in.real("up_seconds");
  view.ack = in.text("ack");
  if (const boost::json::value* const mode = in.find("mode")) {
    view.mode = JsonFields(*mode).text("mode");
    view.mode_epoch = JsonFields(*mode).number("mode_epoch");
    view.sync_steps = static_cast<std::uint32_t>(JsonFields(*mode).number("sync_steps"));
  }
  for (const boost::json::value& check : in.list("checks")) {
    const JsonFields fields(check);
    if (!fields.flag("ok")) {
      view.fault +=
          (view.fault.empty() ? "" : "; ") + fields.text("name") + ": " + fields.text("message");
    }
  }
  for (const boost::json::value& shard : in.list("shards"))
    view.shards.push_back(parse_shard(shard));
  for (const boost::json::value& worker : in.list("workers"))
    ++view.workers[JsonFields(worker).text("state")];
  for (const boost::json::value& link : in.list("links")) view.links.push_back(parse_link(link));
  return view;
}

std::string_view name(Health health) {
  switch (health) {
    case Health::kOk:
      return "ok";
    case Health::kDegraded:
      return "degraded";
    case Health::kCritical:
      return "critical";
    case Health::kNoAnswer:
      return "no answer";
  }
  return "critical";
}

std::uint64_t ClusterView::newest_version(std::uint32_t shard) const {
  std::uint64_t newest = 0;
  for (const ServerView& server : servers) {
    for (const ShardView& replica : server.shards) {
      if (replica.shard == shard) newest = std::max(newest, replica.version);
    }
  }
  return newest;
}

std::uint64_t ClusterView::behind_versions(const ServerView& server) const {
  std::uint64_t behind = 0;
  for (const ShardView& replica : server.shards) {
    behind = std::max(behind, newest_version(replica.shard) - replica.version);
  }
  return behind;
}

const ShardView* ClusterView::leader(std::uint32_t shard) const {
  const ShardView* leader = nullptr;
  for (const ServerView& server : servers) {
    for (const ShardView& replica : server.shards) {
      const bool claims = replica.shard == shard && replica.leads;
      if (claims && (leader == nullptr || replica.epoch > leader->epoch)) leader = &replica;
    }
  }
  return leader;
}

const ServerView* ClusterView::find(std::string_view region) const {
  const auto found = std::ranges::find(servers, region, &ServerView::region);
  return found == servers.end() ? nullptr : &*found;
}

std::vector<Finding> ClusterView::findings() const {
  std::vector<Finding> findings;
  for (const ServerView& server : servers) {
    if (!server.answers) {
      findings.push_back({"GODWIT-E3101", Severity::kCritical, server.name,
                          "does not answer: " + server.fault, "godwit start " + server.name});
    } else if (!server.ready) {
      findings.push_back({"GODWIT-E3102", Severity::kCritical, server.name,
                          "is not ready: " + server.fault, "read log/" + server.name + ".log"});
    } else if (behind_versions(server) > kBehindVersions) {
      findings.push_back({"GODWIT-E3104", Severity::kWarning, server.region,
                          "is " + std::to_string(behind_versions(server)) + " versions behind",
                          "wait, or look at its links"});
    }
    for (const LinkView& link : server.links) {
      const ServerView* const other = find(link.region);
      const bool explained = other == nullptr || !other->answers;  // by the finding on that server
      if (link.up || explained) continue;
      findings.push_back({"GODWIT-E3103", Severity::kWarning, server.region + " -> " + link.region,
                          "the link is down", "check the network between them"});
    }
  }
  return findings;
}

Health ClusterView::health() const {
  if (std::ranges::none_of(servers, &ServerView::answers)) return Health::kNoAnswer;
  Health health = Health::kOk;
  for (const Finding& finding : findings()) {
    if (finding.severity == Severity::kCritical) return Health::kCritical;
    health = Health::kDegraded;
  }
  return health;
}

ClusterView look_at(const ClusterConfig& config, Duration deadline) {
  const std::string token = read_admin_token(config);
  std::vector<std::future<ServerView>> asked;
  for (const ServerConfig& server : config.servers) {
    asked.push_back(
        std::async(std::launch::async, look_at_server, std::cref(server), token, deadline));
  }
  ClusterView view{config.name, config.control, {}};
  for (auto& answer : asked) view.servers.push_back(answer.get());
  return view;
}

}  // namespace godwit::cli
