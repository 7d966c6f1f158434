// WorkerCore: what a worker pushes, pulls and waits for, as a pure state machine. The client library and the
// simulator are shells around it. Every event returns messages to send to the region's server.
//
// Called between optimizer steps only (one thread): `theta` is then neither read nor written by the caller.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "shared/base/time.h"
#include "worker/core/rebase.h"

namespace godwit {

struct WorkerSettings {
  WorkerId id;
  Incarnation incarnation;          // of this process: larger than of those before, if clocks are right
  float weight = 1;                 // b: tokens per step
  CodecSpec lan_codec{CodecId::kFp32, false};
  Hash manifest;
  std::uint32_t max_local_steps = 512;  // async: steps beyond an unnamed push before step() waits
  Duration window = milliseconds(1500); // until the first announcement says better
  std::uint32_t pull_wait_ms = 2000;    // how long the server holds a pull without news
  Duration pull_pause = milliseconds(50);  // shortest time between two pulls without news
};

struct WorkerEffects {
  std::vector<Message> sends;
  std::vector<PushId> acknowledged;       // in order; with their shards below
  std::vector<ShardId> acknowledged_shards;
  std::vector<std::string> warnings;      // refused pushes, reloads
  std::optional<TimePoint> deadline;
  bool merged = false;                    // theta changed
  bool restored = false;                  // to a checkpoint, on some shard
  bool pushed = false;

  void wake_at(TimePoint when) { deadline = deadline ? std::min(*deadline, when) : when; }
};

class WorkerCore {
 public:
  WorkerCore(WorkerSettings settings, const Layout& layout);

  // A (new) connection: pull everything anew and repeat what is not acknowledged.
  WorkerEffects on_connected(TimePoint now);
  // The first anchor of every shard is there: rounds may wait for this worker from now on.
  WorkerEffects join();
  // A fresh run (version 0): offer theta as the initial model of the shards that have none.
  WorkerEffects offer_initial(const Parameters& theta, TimePoint now);
  WorkerEffects on_message(const Message& message, const Parameters& theta, TimePoint now);
  // The caller made one optimizer step.
  WorkerEffects on_step(std::uint64_t tokens, float step_seconds, const Parameters& theta, TimePoint now);
  // Time passed while waiting; also decides pushes that wait for a boundary.
  WorkerEffects on_tick(const Parameters& theta, TimePoint now);
  // Push what is left, as soon as nothing is unnamed, and leave once it is acknowledged.
  WorkerEffects finish(const Parameters& theta, TimePoint now);

  // Why the next step must wait, or "" when it need not.
  std::string must_wait() const;
  bool ready() const;               // every shard has an anchor
  bool everything_named() const;    // nothing is pending
  bool everything_acknowledged() const;
  bool restoring() const;           // a restored checkpoint has not reached every shard
  bool synchronous() const;         // all shards show sync at one mode_epoch
  Round highest_round() const;
  const ShardView& shard(ShardId id) const { return shards_[id.value()].view; }
  std::size_t shard_count() const { return shards_.size(); }
  double staleness_rounds() const { return staleness_rounds_; }

 private:
  struct Shard {
    ShardView view;
    Incarnation incarnation;        // of this process, as this shard's pushes are numbered under
    bool accepted = false;          // a push of this process was
    SequenceNo next_sequence{1};
    std::uint32_t steps = 0;        // since the last push of this shard
    std::uint64_t tokens = 0;
    std::optional<TimePoint> retry_at;  // the pending push was answered `overloaded`
    std::optional<TimePoint> pull_at;   // the next pull waits until then
    TimePoint pulled_at{};              // when the last pull was sent
  };
  void boundary(const Parameters& theta, TimePoint now, WorkerEffects& effects);
  void push_all(Round round, const Parameters& theta, TimePoint now, WorkerEffects& effects);
  bool push_shard(Shard& shard, PushKind kind, Round round, const Parameters& theta, WorkerEffects& effects);
  void on_push_reply(const PushReply& reply, TimePoint now, WorkerEffects& effects);
  void outdo(Incarnation newest, Shard& shard, WorkerEffects& effects) const;
  void on_pull_reply(const PullReply& reply, const Parameters& theta, TimePoint now, WorkerEffects& effects);
  void pull(Shard& shard, TimePoint now, WorkerEffects& effects) const;
  // Sends what waited for its time: pushes that met `overloaded`, pulls that were answered at once.
  void resume(TimePoint now, WorkerEffects& effects);

  WorkerSettings settings_;
  std::vector<Shard> shards_;
  Round last_label_;
  std::optional<Round> announced_;  // not yet pushed for
  TimePoint labelled_at_{};         // when last_label_ was used
  float step_seconds_ = 0;
  double staleness_rounds_ = 0;
  bool joined_ = false;
  bool finishing_ = false;
};

}  // namespace godwit
