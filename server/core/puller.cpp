#include "server/core/puller.h"

#include "server/core/replication.h"

namespace godwit {

void Puller::on_pull(WorkerId worker, const Pull& pull, TimePoint now, Effects& effects) {
  if (std::optional<PullReply> reply = answer(pull)) {
    waiting_.erase(worker);
    return effects.send(worker, std::move(*reply));
  }
  if (pull.wait_ms == 0 ||
      (waiting_.size() >= settings_.waiting_pulls_max && !waiting_.contains(worker))) {
    return effects.send(worker, PullReply{pull.shard, PullOutcome::kNotModified, {}, {}, {}});
  }
  const TimePoint deadline = now + milliseconds(pull.wait_ms);
  waiting_[worker] = {pull, deadline};
  effects.wake_at(deadline);
}

void Puller::on_push(WorkerId worker, const PushId& id) {
  const auto waiting = waiting_.find(worker);
  if (waiting != waiting_.end()) waiting->second.pull.pending = id;
}

void Puller::advance(TimePoint now, Effects& effects) {
  for (auto waiting = waiting_.begin(); waiting != waiting_.end();) {
    std::optional<PullReply> reply = answer(waiting->second.pull);
    if (!reply && now >= waiting->second.deadline) {
      reply = PullReply{state_.shard(), PullOutcome::kNotModified, {}, {}, {}};
    }
    if (reply) {
      effects.send(waiting->first, std::move(*reply));
      waiting = waiting_.erase(waiting);
    } else {
      effects.wake_at(waiting->second.deadline);
      ++waiting;
    }
  }
}

std::optional<PullReply> Puller::answer(const Pull& pull) const {
  if (pull.have == state_.version() && pull.have_hash == state_.head_hash()) return std::nullopt;
  if (state_.version() == Version())
    return std::nullopt;  // behind the worker: this replica is catching up
  if (pull.have > state_.version()) return snapshot(pull);
  const Result<std::optional<Hash>> ours = log_.hash_at(pull.have);
  if (!ours || !*ours || **ours != pull.have_hash) return snapshot(pull);

  PullReply reply{pull.shard, PullOutcome::kEntries, {}, {}, {}};
  const std::uint64_t snapshot_bytes = state_.layout().parameters * sizeof(float);
  std::uint64_t bytes = 0;
  for (Version version = pull.have.next(); version <= state_.version(); version = version.next()) {
    Result<std::optional<Entry>> entry = log_.find(version);
    if (!entry || !*entry) return snapshot(pull);
    bytes += entry_bytes(**entry);
    // The initial entry is a snapshot itself: never answer version 1 alone with more than that.
    if (bytes > snapshot_bytes && version != state_.version()) return snapshot(pull);
    reply.entries.push_back(std::move(**entry));
    if (bytes >= settings_.pull_reply_bytes) break;
  }
  return reply;
}

PullReply Puller::snapshot(const Pull& pull) const {
  PullReply reply{pull.shard, PullOutcome::kSnapshot, {}, {}, {}};
  Result<Snapshot> made = make_snapshot(state_, store_, false);
  if (made) reply.snapshot = std::move(*made);
  if (!pull.pending) return reply;
  std::optional<std::pair<Version, Verdict>> named = log_.find_push(*pull.pending);
  if (!named) {
    const Result<std::optional<Bytes>> record =
        store_.get(Family::kPushes, records::push_key(pull.shard, *pull.pending));
    if (record && *record) {
      if (const auto decoded = records::decode_push_record(**record)) named = *decoded;
    }
  }
  if (named) reply.named = NamedPush{*pull.pending, named->first, named->second};
  return reply;
}

}  // namespace godwit
