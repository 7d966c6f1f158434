#include "server/cli/checkpoint_view.h"

#include <algorithm>
#include <map>

#include "server/cli/admin_client.h"
#include "server/cli/json_fields.h"

namespace godwit::cli {
namespace {

CheckpointView parse_checkpoint(const boost::json::value& value, const std::string& region) {
  const JsonFields in(value);
  CheckpointView view;
  view.id = in.number("id");
  view.created_seconds = static_cast<std::int64_t>(in.number("created_seconds"));
  view.reason = in.text("reason");
  view.automatic = in.flag("automatic");
  view.pinned = in.flag("pinned");
  for (const boost::json::value& item : in.list("shards")) {
    const JsonFields fields(item);
    CheckpointView::Shard& shard = view.shards.emplace_back();
    shard.version = fields.number("version");
    shard.entry_hash = fields.text("entry_hash");
    if (fields.flag("kept")) shard.kept_by.push_back(region);
  }
  return view;
}

// What another server says of the same checkpoint.
void add_keepers(CheckpointView& view, const CheckpointView& other) {
  for (std::size_t i = 0; i < std::min(view.shards.size(), other.shards.size()); ++i) {
    auto& keepers = view.shards[i].kept_by;
    keepers.insert(keepers.end(), other.shards[i].kept_by.begin(), other.shards[i].kept_by.end());
  }
}

}  // namespace

std::vector<std::string> CheckpointView::kept_by() const {
  if (shards.empty()) return {};
  std::vector<std::string> regions = shards.front().kept_by;
  for (const Shard& shard : shards)
    std::erase_if(regions, [&](const auto& region) {
      return std::ranges::count(shard.kept_by, region) == 0;
    });
  return regions;
}

std::string CheckpointView::stays() const {
  if (pinned) return "pinned";
  return automatic ? "until newer ones come" : "until rm";
}

Result<std::vector<CheckpointView>> parse_checkpoints(const std::string& json) {
  boost::json::error_code error;
  const boost::json::value parsed = boost::json::parse(json, error);
  const JsonFields in(parsed);
  if (error || in.text("schema") != "godwit.checkpoints/v1")
    return Error{Errc::kMalformed, "what answers there is no godwit-server of this version"};
  std::vector<CheckpointView> all;
  for (const boost::json::value& item : in.list("items"))
    all.push_back(parse_checkpoint(item, in.text("region")));
  return all;
}

Result<std::vector<CheckpointView>> look_at_checkpoints(const ClusterConfig& config,
                                                        Duration deadline) {
  const std::string token = read_admin_token(config);
  std::map<std::uint64_t, CheckpointView> merged;
  std::optional<Error> silent;
  bool answered = false;
  for (const ServerConfig& server : config.servers) {
    const auto answer = AdminClient(server.admin, token).get("/api/v1/checkpoints", deadline);
    if (!answer) silent = answer.error();
    if (!answer || answer->status != 200) continue;
    const auto views = parse_checkpoints(answer->body);
    if (!views) return views.error();
    answered = true;
    for (const CheckpointView& view : *views) {
      const auto [found, is_new] = merged.emplace(view.id, view);
      if (!is_new) add_keepers(found->second, view);
    }
  }
  if (!answered) return silent.value_or(Error{Errc::kUnavailable, "no server answers"});
  std::vector<CheckpointView> all;
  for (auto& [id, view] : merged) all.push_back(std::move(view));
  return all;
}

}  // namespace godwit::cli
