#include "worker/core/worker_core.h"

#include <algorithm>

#include "shared/codec/codec.h"

namespace godwit {

WorkerCore::WorkerCore(WorkerSettings settings, const Layout& layout) : settings_(settings) {
  for (std::uint32_t id = 0; id < layout.shards.size(); ++id) {
    shards_.push_back({ShardView(ShardId(id), layout.shards[id]), settings_.incarnation, false, SequenceNo(1), 0, 0,
                       {}, {}, {}});
  }
}

WorkerEffects WorkerCore::on_connected(TimePoint now) {
  WorkerEffects effects;
  if (joined_) effects.sends.push_back(Join{settings_.weight});
  for (Shard& shard : shards_) {
    pull(shard, now, effects);
    shard.retry_at.reset();
    if (shard.view.pending() && !shard.view.pending()->acknowledged)
      effects.sends.push_back(shard.view.pending()->push);
  }
  labelled_at_ = now;
  return effects;
}

WorkerEffects WorkerCore::join() {
  WorkerEffects effects;
  joined_ = true;
  last_label_ = std::max(last_label_, highest_round());
  effects.sends.push_back(Join{settings_.weight});
  return effects;
}

WorkerEffects WorkerCore::offer_initial(const Parameters& theta, TimePoint now) {
  WorkerEffects effects;
  resume(now, effects);
  for (Shard& shard : shards_) {
    if (shard.view.head().version != Version() || shard.view.pending()) continue;
    push_shard(shard, PushKind::kInitial, Round(), theta, effects);
  }
  return effects;
}

WorkerEffects WorkerCore::on_message(const Message& message, const Parameters& theta,
                                     TimePoint now) {
  WorkerEffects effects;
  if (const auto* reply = std::get_if<PushReply>(&message)) {
    on_push_reply(*reply, now, effects);
  } else if (const auto* pulled = std::get_if<PullReply>(&message)) {
    on_pull_reply(*pulled, theta, now, effects);
  } else if (const auto* hint = std::get_if<Announce>(&message)) {
    if (hint->round > last_label_) announced_ = std::max(announced_.value_or(Round()), hint->round);
    if (hint->window_ms > 0) settings_.window = milliseconds(hint->window_ms);
  }
  return effects;
}

WorkerEffects WorkerCore::on_step(std::uint64_t tokens, float step_seconds, const Parameters& theta,
                                  TimePoint now) {
  WorkerEffects effects;
  step_seconds_ = step_seconds_ == 0 ? step_seconds : 0.9F * step_seconds_ + 0.1F * step_seconds;
  for (Shard& shard : shards_) {
    ++shard.steps;
    shard.tokens += tokens;
    if (shard.view.pending()) ++shard.view.pending()->steps_since;
  }
  boundary(theta, now, effects);
  return effects;
}

WorkerEffects WorkerCore::on_tick(const Parameters& theta, TimePoint now) {
  WorkerEffects effects;
  boundary(theta, now, effects);
  return effects;
}

WorkerEffects WorkerCore::finish(const Parameters& theta, TimePoint now) {
  WorkerEffects effects;
  finishing_ = true;
  boundary(theta, now, effects);
  return effects;
}

void WorkerCore::boundary(const Parameters& theta, TimePoint now, WorkerEffects& effects) {
  resume(now, effects);
  if (!joined_) return;
  if (finishing_) {
    for (Shard& shard : shards_) {
      if (shard.view.pending() || shard.steps == 0) continue;
      push_shard(shard, PushKind::kPseudoGradient, std::max(last_label_, highest_round().next()),
                 theta, effects);
    }
    if (everything_acknowledged()) {  // no round need wait for this worker any more
      joined_ = false;
      effects.sends.push_back(Leave{});
    }
    return;
  }
  if (synchronous()) {
    announced_.reset();
    const std::uint32_t wanted = std::max(shards_.front().view.head().sync_steps, 1U);
    const bool due = std::all_of(shards_.begin(), shards_.end(),
                                 [&](const Shard& s) { return s.steps >= wanted; });
    if (due && everything_named())
      push_all(std::max(last_label_, highest_round()).next(), theta, now, effects);
    return;
  }
  if (announced_) {
    const Round round = *announced_;
    announced_.reset();
    return push_all(round, theta, now, effects);
  }
  // Nobody announces: the leader of shard 0 may be away, the others need not wait for it.
  const TimePoint due = labelled_at_ + 2 * settings_.window;
  if (now >= due)
    return push_all(std::max(last_label_, highest_round()).next(), theta, now, effects);
  effects.wake_at(due);
}

void WorkerCore::push_all(Round round, const Parameters& theta, TimePoint now,
                          WorkerEffects& effects) {
  last_label_ = round;
  labelled_at_ = now;
  for (Shard& shard : shards_) {
    if (shard.view.pending() || shard.steps == 0) {
      effects.sends.push_back(Skip{shard.view.shard(), round});
    } else {
      push_shard(shard, PushKind::kPseudoGradient, round, theta, effects);
    }
  }
}

bool WorkerCore::push_shard(Shard& shard, PushKind kind, Round round, const Parameters& theta,
                            WorkerEffects& effects) {
  PendingPush pending;
  pending.q = shard.view.progress(theta);
  PushHeader& header = pending.push.header;
  header.id = {settings_.id, shard.incarnation, shard.next_sequence};
  header.shard = shard.view.shard();
  header.kind = kind;
  header.round = round;
  header.base_version = shard.view.head().version;
  header.base_weight = shard.view.head().total_weight;
  header.restore_epoch = shard.view.head().restore_epoch;
  header.steps = shard.steps;
  header.tokens = shard.tokens;
  header.weight = kind == PushKind::kInitial ? 1.0F : settings_.weight;
  header.step_seconds = step_seconds_;
  header.manifest = settings_.manifest;
  header.codec = settings_.lan_codec;
  const ShardLayout& layout = shard.view.layout();
  for (const Block& block : layout.blocks) {
    const CodecSpec codec =
        block.exact || kind == PushKind::kInitial ? exact_codec(header.codec) : header.codec;
    pending.push.payloads.push_back(share(encode_block(
        codec, std::span(pending.q).subspan(block.offset - layout.offset, block.count))));
  }
  effects.sends.push_back(pending.push);
  shard.next_sequence = shard.next_sequence.next();
  shard.steps = 0;
  shard.tokens = 0;
  shard.view.pending() = std::move(pending);
  effects.pushed = true;
  return true;
}

void WorkerCore::resume(TimePoint now, WorkerEffects& effects) {
  const auto due = [&](std::optional<TimePoint>& at) {
    if (!at) return false;
    if (now < *at) {
      effects.wake_at(*at);
      return false;
    }
    at.reset();
    return true;
  };
  for (Shard& shard : shards_) {
    if (due(shard.pull_at)) pull(shard, now, effects);
    if (due(shard.retry_at) && shard.view.pending())
      effects.sends.push_back(shard.view.pending()->push);
  }
}

// This machine's clock was set back: a process that is gone has numbered its pushes from a later time. Were it alive,
// it would have been told to go when this one connected.
void WorkerCore::outdo(Incarnation newest, Shard& shard, WorkerEffects& effects) const {
  constexpr std::uint64_t kSpread = 1U << 20;  // so that two processes that do this differ
  effects.warnings.push_back("the clock of this machine stands behind that of an earlier process of this worker");
  shard.incarnation = Incarnation(newest.value() + 1 + settings_.incarnation.value() % kSpread);
}

void WorkerCore::on_push_reply(const PushReply& reply, TimePoint now, WorkerEffects& effects) {
  if (reply.shard.value() >= shards_.size()) return;
  Shard& shard = shards_[reply.shard.value()];
  std::optional<PendingPush>& pending = shard.view.pending();
  const bool ours = pending && pending->push.header.id == reply.id;
  switch (reply.outcome) {
    case PushOutcome::kAcknowledged:
      if (reply.id.incarnation != shard.incarnation || (ours && pending->acknowledged)) return;
      shard.accepted = true;
      effects.acknowledged.push_back(reply.id);
      effects.acknowledged_shards.push_back(reply.shard);
      if (ours) {
        pending->acknowledged = true;
        pending->push.payloads.clear();  // kept until acknowledged, no longer
      }
      return;
    case PushOutcome::kOverloaded:
      if (!ours || pending->acknowledged) return;
      shard.retry_at = now + milliseconds(std::max(reply.retry_after_ms, 1U));
      effects.wake_at(*shard.retry_at);
      return;
    case PushOutcome::kRefused:
      if (!ours || pending->acknowledged) return;
      // Never accepted: its progress is still in theta - A and goes with the next push, under the
      // same number.
      effects.warnings.push_back("push refused: " + reply.detail);
      if (pending->push.header.restore_epoch == shard.view.head().restore_epoch) {
        shard.steps += pending->push.header.steps;
        shard.tokens += pending->push.header.tokens;
      }
      shard.next_sequence = reply.id.sequence;
      if (reply.newest > shard.incarnation && !shard.accepted) outdo(reply.newest, shard, effects);
      pending.reset();
      return;
  }
}

void WorkerCore::on_pull_reply(const PullReply& reply, const Parameters& theta, TimePoint now,
                               WorkerEffects& effects) {
  if (reply.shard.value() >= shards_.size()) return;
  Shard& shard = shards_[reply.shard.value()];
  Result<ShardView::Merged> merged = ShardView::Merged{};
  if (reply.outcome == PullOutcome::kEntries) merged = shard.view.merge(reply.entries, theta);
  if (reply.outcome == PullOutcome::kSnapshot && reply.snapshot) {
    merged = shard.view.replace(*reply.snapshot, reply.named, theta);
  }
  if (!merged) {
    effects.warnings.push_back("pull: " + merged.error().to_string());  // the next pull asks again
  } else {
    effects.merged |= merged->changed;
    if (merged->named) {
      staleness_rounds_ = merged->staleness_rounds;
      if (merged->named->verdict != Verdict::kApplied)
        effects.warnings.push_back(merged->named->verdict == Verdict::kDiscarded
                                       ? "push discarded: a checkpoint was restored"
                                       : "push named as refused");
    }
    if (merged->restored) {
      effects.restored = true;
      shard.steps = 0;
      shard.tokens = 0;
    }
  }
  // Without news a server that holds no more pulls answers at once: do not ask in a circle.
  const TimePoint due = shard.pulled_at + settings_.pull_pause;
  if ((!merged || !merged->changed) && now < due) {
    shard.pull_at = due;
    return effects.wake_at(due);
  }
  pull(shard, now, effects);
}

void WorkerCore::pull(Shard& shard, TimePoint now, WorkerEffects& effects) const {
  shard.pull_at.reset();
  shard.pulled_at = now;
  const std::optional<PendingPush>& pending = shard.view.pending();
  effects.sends.push_back(Pull{
      shard.view.shard(), shard.view.head().version, shard.view.head_hash(),
      pending ? std::optional(pending->push.header.id) : std::nullopt, settings_.pull_wait_ms});
}

std::string WorkerCore::must_wait() const {
  if (!ready()) return "for the model";
  if (restoring()) return "for the restored checkpoint on every shard";
  for (const Shard& shard : shards_) {
    if (!shard.view.pending()) continue;
    const std::string what = "for push " +
                             to_string(shard.view.pending()->push.header.id.sequence) +
                             " of shard " + to_string(shard.view.shard()) + " to be named";
    if (synchronous() && shard.steps == 0) return what;
    if (shard.view.pending()->steps_since >= settings_.max_local_steps) return what;
  }
  // Sync: a push that is due but could not be made waits for the one before it.
  if (synchronous() && !everything_named()) {
    const std::uint32_t wanted = std::max(shards_.front().view.head().sync_steps, 1U);
    for (const Shard& shard : shards_) {
      if (shard.steps >= wanted) return "for the round before to be committed";
    }
  }
  return "";
}

bool WorkerCore::ready() const {
  return std::all_of(shards_.begin(), shards_.end(), [](const Shard& s) {
    return s.view.head().version != Version() &&
           !(s.view.pending() && s.view.pending()->push.header.kind == PushKind::kInitial);
  });
}

bool WorkerCore::everything_named() const {
  return std::none_of(shards_.begin(), shards_.end(),
                      [](const Shard& s) { return s.view.pending().has_value(); });
}

bool WorkerCore::everything_acknowledged() const {
  return std::all_of(shards_.begin(), shards_.end(), [](const Shard& s) {
    return s.steps == 0 && (!s.view.pending() || s.view.pending()->acknowledged);
  });
}

bool WorkerCore::restoring() const {
  const RestoreEpoch first = shards_.front().view.head().restore_epoch;
  return std::any_of(shards_.begin(), shards_.end(),
                     [first](const Shard& s) { return s.view.head().restore_epoch != first; });
}

bool WorkerCore::synchronous() const {
  const EntryHeader& first = shards_.front().view.head();
  return std::all_of(shards_.begin(), shards_.end(), [&first](const Shard& s) {
    return s.view.head().mode == Mode::kSync && s.view.head().mode_epoch == first.mode_epoch;
  });
}

Round WorkerCore::highest_round() const {
  Round highest;
  for (const Shard& shard : shards_) highest = std::max(highest, shard.view.head().round);
  return highest;
}

}  // namespace godwit
