// AdminService: what the admin port asks of a server process, as plain values. server/app
// implements it; server/http is the only caller and knows nothing else of the process.
//
// Any thread calls; an answer may come on any thread, before the call returns or later, at most
// once. An answer that comes too late is dropped, and so is one that comes after the HTTP server is
// gone: never wait for it.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "shared/base/bytes.h"
#include "shared/base/result.h"
#include "shared/base/strong_id.h"
#include "shared/protocol/push.h"

namespace godwit::http {

struct ReadinessCheck {
  std::string
      name;  // "store", "control", "shards-loaded", "data-listener", ...: lower case, stable
  bool ok = false;
  std::string message;  // when not ok: what is missing
};

struct ShardReport {
  ShardId shard;
  bool leads = false;
  std::string leader_region;
  std::vector<std::string> in_sync;  // regions that hold all that the watermark covers
  Version version;
  Version watermark;
  Epoch epoch;
  Round round;
  Mode mode = Mode::kAsync;  // as this shard's log shows it
  ModeEpoch mode_epoch;
  std::string optimizer;  // "none", "sgd", "nesterov"
  std::uint64_t parameters = 0;
  std::uint64_t tokens = 0;  // the token clock of this shard's log
  std::uint64_t outbox_items = 0;
  std::uint32_t workers = 0;
  RestoreEpoch restore_epoch;         // of the last checkpoint that was restored
  std::uint64_t behind_versions = 0;  // of the newest version that this replica has heard of
  std::string waiting_for;            // leaders: why the next version is not there yet
};

struct WorkerReport {
  std::string name;
  std::string state;  // joining, active, lagging, draining, lost
};

struct TrafficReport {
  std::string traffic_class;  // delta, weights, control
  std::uint64_t sent_bytes = 0;
  std::uint64_t received_bytes = 0;
};

struct LinkReport {
  std::string region;
  bool up = false;
  double rtt_seconds = 0;
  std::vector<TrafficReport> traffic;  // since the process started
};

struct StatusReport {
  std::string cluster;
  std::string server;
  std::string region;
  bool hosts_control = false;
  std::string version;  // of the program
  double up_seconds = 0;
  std::string ack;           // memory, region, committed, replicated
  Mode mode = Mode::kAsync;  // as the control store has it; shards follow
  ModeEpoch mode_epoch;
  std::uint32_t sync_steps = 0;
  std::string manifest_hash;  // empty: no worker has offered a model yet
  std::vector<ReadinessCheck> checks;
  std::vector<ShardReport> shards;
  std::vector<WorkerReport> workers;
  std::vector<LinkReport> links;  // to other regions
};

struct BlockHashesReport {
  ShardId shard;
  Version version;
  Hash entry_hash;           // of the entry at that version: the whole log before it
  std::vector<Hash> blocks;  // ShardCore::block_hashes
};

struct ModeRequest {
  Mode mode = Mode::kAsync;
  std::uint32_t sync_steps = 0;  // 0: as it was
};
struct ModeReport {
  Mode mode = Mode::kAsync;
  ModeEpoch mode_epoch;
  std::uint32_t sync_steps = 0;
};

// Which model: one of a checkpoint, every shard at one version, or (neither) the newest one.
struct ModelRequest {
  std::optional<std::uint64_t> checkpoint;
  std::optional<Version> version;
};

struct CheckpointReport {
  struct Shard {
    Version version;
    Hash entry;
    bool kept = false;   // this replica can rebuild it
    std::string reason;  // why not
  };
  std::uint64_t id = 0;
  std::int64_t created_seconds = 0;  // Unix time
  std::string reason;
  bool automatic = false;  // goes when newer ones come, unless pinned
  bool pinned = false;
  std::vector<Shard> shards;
};
struct CheckpointsReport {
  std::string region;
  std::vector<CheckpointReport> items;
};
struct RestoreReport {
  std::uint64_t checkpoint = 0;
  RestoreEpoch restore_epoch;  // every shard shows it when it goes on from there
};

struct PromoteRequest {
  ShardId shard;
  std::string region;
};
struct PromoteReport {
  ShardId shard;
  std::string region;
  Epoch epoch;  // of the wish: the region takes a later one
};

class AdminService {
 public:
  template <class T>
  using Callback = std::function<void(T)>;
  virtual ~AdminService() = default;

  // Answers from where the process does its work: no answer means that it hangs. Also before it is
  // ready.
  virtual void ping(std::function<void()> done) = 0;
  virtual void status(Callback<StatusReport> done) = 0;
  // This replica's, at `version` or (nullopt) its newest one. Errors: kNotFound: no such shard, or
  // the version is not there yet or any more.
  virtual void block_hashes(ShardId shard, std::optional<Version> version,
                            Callback<Result<BlockHashesReport>> done) = 0;
  // The same for an older version, computed from the bytes that it is rebuilt from. Errors also: kCorrupt.
  virtual void rebuilt_hashes(ShardId shard, Version version, Callback<Result<BlockHashesReport>> done) = 0;
  // The model of this replica as one safetensors file; a shard's version is its metadata
  // "version.<shard>", and "exact" names its exact tensors. Asked for one at a time. Errors: kUnavailable: no model
  // yet; kNotFound: no such checkpoint, or its versions are not kept here.
  virtual void model(ModelRequest request, Callback<Result<SharedBytes>> done) = 0;
  // The run's checkpoints, and which of them this replica keeps.
  virtual void checkpoints(Callback<Result<CheckpointsReport>> done) = 0;
  // Of what every region holds now. The answers of all four come when the control store has made it durable.
  virtual void create_checkpoint(std::string reason, Callback<Result<CheckpointReport>> done) = 0;
  virtual void pin_checkpoint(std::uint64_t id, bool pinned, Callback<Result<CheckpointReport>> done) = 0;
  virtual void remove_checkpoint(std::uint64_t id, Callback<Result<CheckpointReport>> done) = 0;
  virtual void restore_checkpoint(std::uint64_t id, Callback<Result<RestoreReport>> done) = 0;
  // By compare-and-swap in the control store; the answer comes when that is durable, shards follow.
  // Errors: kInvalid, kNotLeader (names the control host), kUnavailable, kConflict.
  virtual void set_mode(ModeRequest request, Callback<Result<ModeReport>> done) = 0;
  // Lets another region lead a shard. By compare-and-swap in the control store; the region takes over when it
  // hears of it. Errors: kConflict: not in sync, or away; kInvalid: no such region or shard; kUnavailable.
  virtual void promote(PromoteRequest request, Callback<Result<PromoteReport>> done) = 0;
  // Tells the workers of this region to leave their loops.
  virtual void stop_workers(Callback<Result<void>> done) = 0;
};

}  // namespace godwit::http
