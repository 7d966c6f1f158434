#include "server/cli/checkpoint_command.h"

#include <algorithm>
#include <array>
#include <boost/json.hpp>
#include <ctime>
#include <thread>

#include "server/cli/admin_client.h"
#include "server/cli/checkpoint_view.h"
#include "server/cli/cluster_view.h"
#include "server/cli/exit_code.h"
#include "server/cli/json_fields.h"
#include "server/cli/replica_hashes.h"
#include "server/cli/table.h"

namespace godwit::cli {
namespace {

using boost::json::array;
using boost::json::object;
using Clock = std::chrono::steady_clock;

constexpr Duration kDeadline = seconds(10);
constexpr auto kPoll = std::chrono::milliseconds(100);
constexpr const char* kTarget = "/api/v1/checkpoints";

std::string joined(const std::vector<std::string>& words) {
  std::string text;
  for (const std::string& word : words) text += (text.empty() ? "" : ", ") + word;
  return text.empty() ? "-" : text;
}

std::string utc(std::int64_t seconds) {
  const auto time = static_cast<std::time_t>(seconds);
  std::tm parts{};
  gmtime_r(&time, &parts);
  std::array<char, 32> text{};
  std::strftime(text.data(), text.size(), "%Y-%m-%dT%H:%M:%SZ", &parts);
  return text.data();
}

object to_object(const CheckpointView& view) {
  array shards;
  for (std::size_t id = 0; id < view.shards.size(); ++id) {
    array kept_by;
    for (const std::string& region : view.shards[id].kept_by)
      kept_by.push_back(boost::json::string(region));
    shards.push_back(object{{"shard", id},
                            {"version", std::to_string(view.shards[id].version)},
                            {"entry_hash", view.shards[id].entry_hash},
                            {"kept_by", std::move(kept_by)}});
  }
  return {{"id", std::to_string(view.id)}, {"created", utc(view.created_seconds)},
          {"reason", view.reason},         {"automatic", view.automatic},
          {"pinned", view.pinned},         {"shards", std::move(shards)}};
}

void print_json(const Console& console, object all, std::string_view schema) {
  all["schema"] = boost::json::string(schema);
  console.out << boost::json::serialize(all) << "\n";
}

// One of the checkpoints; the failure names those that there are.
Result<CheckpointView> find_checkpoint(const ClusterConfig& config, std::uint64_t id) {
  auto all = look_at_checkpoints(config, kDeadline);
  if (!all) return all.error();
  std::string ids;
  for (CheckpointView& view : *all) {
    if (view.id == id) return std::move(view);
    ids += (ids.empty() ? "" : ", ") + std::to_string(view.id);
  }
  return Error{Errc::kNotFound,
               "there is no checkpoint " + std::to_string(id) +
                   (ids.empty() ? "; there is none at all" : "; there are " + ids)};
}

std::string path_of(std::uint64_t id, const char* verb = "") {
  return kTarget + ("/" + std::to_string(id)) + verb;
}

// Asks the control host; an answer that is not 200 is the failure.
Result<Answer> ask(const ClusterConfig& config, const Result<Answer>& answer) {
  if (!answer) return Error{answer.error().code, config.control + ": " + answer.error().context};
  return *answer;
}

int create(const CommandLine& line, const ClusterConfig& config, const Console& console) {
  const AdminClient client(config.control_server().admin, read_admin_token(config));
  object body;
  if (!line.reason.empty()) body["reason"] = line.reason;
  const auto answer = ask(config, client.post(kTarget, boost::json::serialize(body), kDeadline));
  if (!answer) return report(console, answer.error());
  if (answer->status != 200) return report(console, failure_of(*answer));
  boost::json::error_code error;
  const boost::json::value parsed = boost::json::parse(answer->body, error);
  const std::string id = std::to_string(JsonFields(parsed).number("id"));
  if (line.format == Format::kJson) {
    console.out << answer->body << "\n";
    return exit_code::kSuccess;
  }
  std::string versions;
  for (const boost::json::value& shard : JsonFields(parsed).list("shards"))
    versions +=
        (versions.empty() ? "" : ", ") + with_separators(JsonFields(shard).number("version"));
  console.out << "checkpoint " << id << "  versions " << versions
              << "  restore: godwit checkpoint restore " << id << "\n";
  return exit_code::kSuccess;
}

int list(const CommandLine& line, const ClusterConfig& config, const Console& console) {
  const auto all = look_at_checkpoints(config, kDeadline);
  if (!all) return report(console, all.error());
  if (line.format == Format::kJson) {
    array items;
    for (const CheckpointView& view : *all) items.push_back(to_object(view));
    print_json(console, {{"items", std::move(items)}}, "godwit.checkpoint_list/v1");
    return exit_code::kSuccess;
  }
  Table table({{"ID", Table::Align::kRight},
               {"CREATED"},
               {"VERSIONS"},
               {"STAYS"},
               {"KEPT BY"},
               {"REASON"}});
  for (const CheckpointView& view : *all) {
    std::vector<std::string> versions;
    for (const auto& shard : view.shards) versions.push_back(with_separators(shard.version));
    if (versions.size() > 4) versions = {versions.front(), "...", versions.back()};
    table.add({std::to_string(view.id), utc(view.created_seconds), joined(versions), view.stays(),
               joined(view.kept_by()), view.reason});
  }
  console.out << table.text();
  if (all->empty()) console.error << "no checkpoint yet: godwit checkpoint create\n";
  return exit_code::kSuccess;
}

int show(const CommandLine& line, const ClusterConfig& config, const Console& console) {
  const auto view = find_checkpoint(config, line.checkpoint);
  if (!view) return report(console, view.error());
  if (line.format == Format::kJson) {
    print_json(console, to_object(*view), "godwit.checkpoint/v1");
    return exit_code::kSuccess;
  }
  console.out << "checkpoint " << view->id << "  " << utc(view->created_seconds) << "  "
              << view->reason << "  stays " << view->stays() << "\n\n";
  Table table(
      {{"SHARD", Table::Align::kRight}, {"VERSION", Table::Align::kRight}, {"ENTRY"}, {"KEPT BY"}});
  for (std::size_t id = 0; id < view->shards.size(); ++id) {
    const auto& shard = view->shards[id];
    table.add({std::to_string(id), with_separators(shard.version), shard.entry_hash,
               joined(shard.kept_by)});
  }
  console.out << table.text();
  return exit_code::kSuccess;
}

struct Verdict {
  std::uint32_t shard = 0;
  std::uint64_t version = 0;
  std::size_t replicas = 0;
  std::string fault;  // empty: identical
};

// Rebuilt wherever it is kept: the same bytes, and the entry that was recorded.
Verdict verify_shard(const ClusterConfig& config, const CheckpointView& view, std::uint32_t id) {
  const CheckpointView::Shard& shard = view.shards[id];
  const std::string token = read_admin_token(config);
  Verdict verdict{id, shard.version, 0, ""};
  std::optional<ReplicaHashes> first;
  for (const std::string& region : shard.kept_by) {
    const auto hashes = rebuilt_hashes(*config.find_region(region), token, id, shard.version);
    if (!hashes) return verdict.fault = region + ": " + hashes.error().context, verdict;
    if (hashes->entry != shard.entry_hash)
      return verdict.fault =
                 region + " has entry " + hashes->entry + ", recorded is " + shard.entry_hash,
             verdict;
    if (!first) first = *hashes;
    if (const std::string found = first_difference(*first, *hashes); !found.empty())
      return verdict.fault = shard.kept_by.front() + " and " + region + " differ in " + found,
             verdict;
    ++verdict.replicas;
  }
  if (verdict.replicas == 0) verdict.fault = "no region that answers keeps it";
  return verdict;
}

int verify(const CommandLine& line, const ClusterConfig& config, const Console& console) {
  const auto view = find_checkpoint(config, line.checkpoint);
  if (!view) return report(console, view.error());
  bool passed = true;
  array shards;
  Table table({{"SHARD", Table::Align::kRight},
               {"VERSION", Table::Align::kRight},
               {"REPLICAS", Table::Align::kRight},
               {"RESULT"}});
  for (std::uint32_t id = 0; id < view->shards.size(); ++id) {
    const Verdict verdict = verify_shard(config, *view, id);
    passed = passed && verdict.fault.empty();
    table.add({std::to_string(id), with_separators(verdict.version),
               std::to_string(verdict.replicas),
               verdict.fault.empty() ? "identical" : verdict.fault});
    shards.push_back(object{{"shard", id},
                            {"version", std::to_string(verdict.version)},
                            {"replicas", verdict.replicas},
                            {"identical", verdict.fault.empty()},
                            {"fault", verdict.fault}});
  }
  if (line.format == Format::kJson) {
    print_json(
        console,
        {{"id", std::to_string(view->id)}, {"passed", passed}, {"shards", std::move(shards)}},
        "godwit.checkpoint_verify/v1");
  } else {
    console.out << table.text();
  }
  if (passed) return exit_code::kSuccess;
  return report(
      console, Failure("GODWIT-E6001", "checkpoint " + std::to_string(view->id) + " is not whole"));
}

// Every shard's leader must have what it takes.
std::optional<Failure> obstacle(const ClusterView& cluster, const CheckpointView& view) {
  for (std::uint32_t id = 0; id < view.shards.size(); ++id) {
    const ShardView* const leader = cluster.leader(id);
    const std::string shard = std::to_string(id);
    if (leader == nullptr) {
      return Failure(Error{Errc::kUnavailable, "no server that answers leads shard " + shard},
                     "godwit status");
    }
    const std::vector<std::string>& keepers = view.shards[id].kept_by;
    if (std::ranges::count(keepers, leader->leader_region) > 0) continue;
    if (keepers.empty())
      return Failure(Error{Errc::kNotFound, "no region keeps version " +
                                                std::to_string(view.shards[id].version) +
                                                " of shard " + shard + " any more"});
    return Failure(Error{Errc::kConflict, "region " + leader->leader_region + " leads shard " +
                                              shard + " and does not keep version " +
                                              std::to_string(view.shards[id].version)},
                   "godwit promote " + shard + " " + keepers.front());
  }
  return std::nullopt;
}

// The servers whose replicas do not show this restore yet, or "".
std::string lagging(const ClusterView& cluster, std::uint64_t restore_epoch) {
  std::string names;
  for (const ServerView& server : cluster.servers) {
    const bool shows = server.answers && !server.shards.empty() &&
                       std::ranges::all_of(server.shards, [&](const ShardView& shard) {
                         return shard.restore_epoch >= restore_epoch;
                       });
    if (server.answers && !shows) names += (names.empty() ? "" : ", ") + server.name;
  }
  return names;
}

int restore(const CommandLine& line, const ClusterConfig& config, const Console& console) {
  const auto view = find_checkpoint(config, line.checkpoint);
  if (!view) return report(console, view.error());
  if (const auto failure = obstacle(look_at(config, kDeadline), *view))
    return report(console, *failure);
  const AdminClient client(config.control_server().admin, read_admin_token(config));
  const std::string id = std::to_string(view->id);
  const object before{{"reason", "before checkpoint " + id + " was restored"}};
  const auto kept = ask(config, client.post(kTarget, boost::json::serialize(before), kDeadline));
  if (!kept) return report(console, kept.error());
  if (kept->status != 200) return report(console, failure_of(*kept));
  const auto answer = ask(config, client.post(path_of(view->id, "/restore"), "{}", kDeadline));
  if (!answer) return report(console, answer.error());
  if (answer->status != 200) return report(console, failure_of(*answer));
  boost::json::error_code error;
  const boost::json::value undo = boost::json::parse(kept->body, error);
  const boost::json::value wanted = boost::json::parse(answer->body, error);
  const std::uint64_t epoch = JsonFields(wanted).number("restore_epoch");

  const auto end = Clock::now() + line.timeout;
  for (std::string late; !(late = lagging(look_at(config, kDeadline), epoch)).empty();) {
    if (Clock::now() >= end) {
      return report(console,
                    Failure("GODWIT-E1002",
                            "not everywhere yet: " + late + "; it will be there when they are",
                            "godwit status"));
    }
    std::this_thread::sleep_for(kPoll);
  }
  const std::uint64_t undo_id = JsonFields(undo).number("id");
  if (line.format == Format::kJson) {
    print_json(console,
               {{"checkpoint", id},
                {"restore_epoch", std::to_string(epoch)},
                {"undo", std::to_string(undo_id)}},
               "godwit.restore/v1");
  } else {
    console.out << "checkpoint " << id << " is restored  undo: godwit checkpoint restore "
                << undo_id << "\n";
  }
  return exit_code::kSuccess;
}

// Pins, releases or removes it.
int change(const CommandLine& line, const ClusterConfig& config, const Console& console) {
  const AdminClient client(config.control_server().admin, read_admin_token(config));
  const bool removes = line.command == Command::kCheckpointRemove;
  const object pin{{"pinned", !line.off}};
  const auto answer = ask(config, removes ? client.remove(path_of(line.checkpoint), kDeadline)
                                          : client.post(path_of(line.checkpoint, "/pin"),
                                                        boost::json::serialize(pin), kDeadline));
  if (!answer) return report(console, answer.error());
  if (answer->status != 200) return report(console, failure_of(*answer));
  if (line.format == Format::kJson) {
    console.out << answer->body << "\n";
  } else {
    console.out << "checkpoint " << line.checkpoint << " is "
                << (removes    ? "no longer kept"
                    : line.off ? "released"
                               : "pinned")
                << "\n";
  }
  return exit_code::kSuccess;
}

}  // namespace

int run_checkpoint(const CommandLine& line, const ClusterConfig& config, const Console& console) {
  switch (line.command) {
    case Command::kCheckpointCreate:
      return create(line, config, console);
    case Command::kCheckpointList:
      return list(line, config, console);
    case Command::kCheckpointShow:
      return show(line, config, console);
    case Command::kCheckpointVerify:
      return verify(line, config, console);
    case Command::kCheckpointRestore:
      return restore(line, config, console);
    default:
      return change(line, config, console);
  }
}

}  // namespace godwit::cli
