#include "server/http/status_json.h"

#include <algorithm>
#include <boost/json.hpp>

namespace godwit::http {
namespace {

using boost::json::array;
using boost::json::object;

template <class Tag>
std::string number(StrongId<Tag, std::uint64_t> id) {
  return std::to_string(id.value());
}

std::string hexadecimal(Hash hash) {
  constexpr std::string_view kDigits = "0123456789abcdef";
  std::string text;
  for (int shift = 60; shift >= 0; shift -= 4) text += kDigits[hash.value() >> shift & 15U];
  return text;
}

object mode_object(Mode mode, ModeEpoch mode_epoch, std::uint32_t sync_steps) {
  return {{"mode", name(mode)}, {"mode_epoch", number(mode_epoch)}, {"sync_steps", sync_steps}};
}

object shard_object(const ShardReport& shard) {
  array in_sync;
  for (const std::string& region : shard.in_sync) in_sync.push_back(boost::json::string(region));
  return {{"shard", shard.shard.value()},
          {"leads", shard.leads},
          {"leader_region", shard.leader_region},
          {"in_sync", std::move(in_sync)},
          {"version", number(shard.version)},
          {"watermark", number(shard.watermark)},
          {"epoch", number(shard.epoch)},
          {"round", number(shard.round)},
          {"mode", name(shard.mode)},
          {"mode_epoch", number(shard.mode_epoch)},
          {"optimizer", shard.optimizer},
          {"parameters", std::to_string(shard.parameters)},
          {"tokens", std::to_string(shard.tokens)},
          {"restore_epoch", number(shard.restore_epoch)},
          {"outbox_items", std::to_string(shard.outbox_items)},
          {"workers", shard.workers},
          {"behind_versions", std::to_string(shard.behind_versions)},
          {"waiting_for", shard.waiting_for}};
}

object link_object(const LinkReport& link) {
  array traffic;
  for (const TrafficReport& item : link.traffic) {
    traffic.push_back(object{{"class", item.traffic_class},
                             {"sent_bytes", std::to_string(item.sent_bytes)},
                             {"received_bytes", std::to_string(item.received_bytes)}});
  }
  return {{"region", link.region},
          {"up", link.up},
          {"rtt_seconds", link.rtt_seconds},
          {"traffic", std::move(traffic)}};
}

object checkpoint_object(const CheckpointReport& report) {
  array shards;
  for (const CheckpointReport::Shard& shard : report.shards) {
    shards.push_back(object{{"version", number(shard.version)},
                            {"entry_hash", hexadecimal(shard.entry)},
                            {"kept", shard.kept},
                            {"reason", shard.reason}});
  }
  return {{"id", std::to_string(report.id)},
          {"created_seconds", std::to_string(report.created_seconds)},
          {"reason", report.reason},
          {"automatic", report.automatic},
          {"pinned", report.pinned},
          {"shards", std::move(shards)}};
}

}  // namespace

std::string_view name(Mode mode) { return mode == Mode::kSync ? "sync" : "async"; }

bool is_ready(const StatusReport& status) {
  return !status.checks.empty() && std::ranges::all_of(status.checks, &ReadinessCheck::ok);
}

std::string to_json(const StatusReport& status) {
  array checks;
  for (const ReadinessCheck& check : status.checks) {
    checks.push_back(object{{"name", check.name}, {"ok", check.ok}, {"message", check.message}});
  }
  array shards;
  for (const ShardReport& shard : status.shards) shards.push_back(shard_object(shard));
  array workers;
  for (const WorkerReport& worker : status.workers) {
    workers.push_back(object{{"name", worker.name}, {"state", worker.state}});
  }
  array links;
  for (const LinkReport& link : status.links) links.push_back(link_object(link));
  const object all = {{"schema", "godwit.status/v1"},
                      {"cluster", status.cluster},
                      {"server", status.server},
                      {"region", status.region},
                      {"hosts_control", status.hosts_control},
                      {"version", status.version},
                      {"up_seconds", status.up_seconds},
                      {"ack", status.ack},
                      {"mode", mode_object(status.mode, status.mode_epoch, status.sync_steps)},
                      {"manifest_hash", status.manifest_hash},
                      {"ready", is_ready(status)},
                      {"checks", std::move(checks)},
                      {"shards", std::move(shards)},
                      {"workers", std::move(workers)},
                      {"links", std::move(links)}};
  return boost::json::serialize(all);
}

std::string to_json(const BlockHashesReport& report) {
  array blocks;
  for (const Hash hash : report.blocks) blocks.push_back(boost::json::string(hexadecimal(hash)));
  const object all = {{"schema", "godwit.hashes/v1"},
                      {"shard", report.shard.value()},
                      {"version", number(report.version)},
                      {"entry_hash", hexadecimal(report.entry_hash)},
                      {"blocks", std::move(blocks)}};
  return boost::json::serialize(all);
}

std::string to_json(const ModeReport& report) {
  object all = mode_object(report.mode, report.mode_epoch, report.sync_steps);
  all["schema"] = "godwit.mode/v1";
  return boost::json::serialize(all);
}

std::string to_json(const PromoteReport& report) {
  const object all = {{"schema", "godwit.promote/v1"},
                      {"shard", report.shard.value()},
                      {"region", report.region},
                      {"epoch", number(report.epoch)}};
  return boost::json::serialize(all);
}

std::string to_json(const CheckpointReport& report) {
  object all = checkpoint_object(report);
  all["schema"] = "godwit.checkpoint/v1";
  return boost::json::serialize(all);
}

std::string to_json(const CheckpointsReport& report) {
  array items;
  for (const CheckpointReport& item : report.items) items.push_back(checkpoint_object(item));
  const object all = {
      {"schema", "godwit.checkpoints/v1"}, {"region", report.region}, {"items", std::move(items)}};
  return boost::json::serialize(all);
}

std::string to_json(const RestoreReport& report) {
  const object all = {{"schema", "godwit.restore/v1"},
                      {"checkpoint", std::to_string(report.checkpoint)},
                      {"restore_epoch", number(report.restore_epoch)}};
  return boost::json::serialize(all);
}

}  // namespace godwit::http
