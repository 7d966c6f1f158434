#include "tests/sim/worker_node.h"

#include <algorithm>

namespace godwit::sim {

WorkerNode::WorkerNode(World world, std::uint32_t index)
    : world_(world),
      index_(index),
      random_(world.swarm.seed * 1009 + index),
      weight_(static_cast<float>(1 + random_.below(8))),
      theta_(world.layout.parameters),
      target_(world.layout.parameters),
      accounting_(world.layout) {
  parameters_.add(theta_);
  for (float& value : target_) value = static_cast<float>(random_.normal());
}

void WorkerNode::start() {
  if (core_) return;
  ++life_;
  world_.sim.record("worker starts", index_, life_);
  for (float& value : theta_) value = static_cast<float>(random_.normal());
  WorkerSettings settings;
  settings.id = WorkerId(index_ + 1);
  settings.incarnation = Incarnation(life_);
  settings.weight = weight_;
  settings.lan_codec = world_.swarm.lan_codec;
  settings.manifest = world_.swarm.manifest.hash();
  settings.max_local_steps = world_.swarm.max_local_steps;
  settings.window = world_.swarm.run.window_max;
  settings.pull_wait_ms = world_.swarm.pull_wait_ms;
  core_ = std::make_unique<WorkerCore>(settings, world_.layout);
  accounting_ = Accounting(world_.layout);
  link_->dial();
}

void WorkerNode::crash() {
  if (!core_) return;
  ++life_;
  world_.sim.record("worker dies", index_, life_);
  ++world_.sim.counters()[Count::kWorkerCrashes];
  core_.reset();
  inbox_.clear();
  stepping_ = fresh_run_ = joined_ = false;
  tick_at_.reset();
  link_->end_died(*this);
  world_.sim.after(world_.sim.between(milliseconds(20), milliseconds(800)), [this, life = life_] {
    if (life == life_) start();
  });
}

void WorkerNode::finish() {
  finishing_ = true;
  enqueue([this](WorkerCore& core, TimePoint now) { return core.finish(parameters_, now); });
}

bool WorkerNode::settled() const {
  if (!core_ || !joined_ || stepping_ || !core_->everything_named()) return false;
  for (std::size_t i = 0; i < theta_.size(); ++i) {  // theta is the anchor: nothing is left to push
    const ShardView* view = nullptr;
    for (std::uint32_t shard = 0; shard < core_->shard_count(); ++shard) {
      const ShardLayout& layout = world_.layout.shards[shard];
      if (i >= layout.offset && i < layout.offset + layout.parameters) view = &core_->shard(ShardId(shard));
    }
    if (theta_[i] != view->anchor()[i - view->layout().offset]) return false;
  }
  return true;
}

void WorkerNode::on_up(Endpoint) {
  enqueue([](WorkerCore& core, TimePoint now) { return core.on_connected(now); });
}

void WorkerNode::on_down(Endpoint) {}

void WorkerNode::on_delivery(Endpoint, const Message& message) {
  const auto* pulled = std::get_if<PullReply>(&message);
  if (pulled != nullptr && pulled->outcome == PullOutcome::kNotModified) fresh_run_ = true;
  if (pulled != nullptr && pulled->outcome == PullOutcome::kSnapshot) ++world_.sim.counters()[Count::kWorkerSnapshots];
  enqueue([this, message](WorkerCore& core, TimePoint now) { return core.on_message(message, parameters_, now); },
          pulled != nullptr);
}

void WorkerNode::enqueue(Call call, bool pulled) {
  if (!core_) return;
  inbox_.emplace_back(std::move(call), pulled);
  turn();
}

void WorkerNode::turn() {
  if (stepping_ || in_turn_) return;
  in_turn_ = true;
  while (!inbox_.empty()) {
    const auto [call, pulled] = std::move(inbox_.front());
    inbox_.pop_front();
    perform(call, pulled);
  }
  become_ready();
  perform([this](WorkerCore& core, TimePoint now) { return core.on_tick(parameters_, now); }, false);
  in_turn_ = false;
  if (joined_ && !finishing_ && core_->must_wait().empty()) begin_step();
}

void WorkerNode::become_ready() {
  if (joined_) return;
  if (core_->ready()) {
    joined_ = true;
    return perform([](WorkerCore& core, TimePoint) { return core.join(); }, false);
  }
  if (!fresh_run_) return;
  perform([this](WorkerCore& core, TimePoint now) { return core.offer_initial(parameters_, now); }, false);
}

void WorkerNode::perform(const Call& call, bool pulled) {
  accounting_.before(*core_, theta_);
  WorkerEffects effects = call(*core_, world_.sim.now());
  if (std::string wrong = accounting_.after(*core_, theta_, pulled); !wrong.empty()) {
    world_.sim.fail("worker " + std::to_string(index_) + ": " + wrong);
  }
  for (Message& message : effects.sends) {
    if (const auto* push = std::get_if<Push>(&message)) {
      world_.ledger.on_push(*push, core_->shard(push->header.shard).pending()->q);
    }
    link_->send(*this, std::move(message));
  }
  for (const std::string& warning : effects.warnings) {
    world_.sim.trace("worker " + std::to_string(index_) + ": " + warning);
  }
  if (effects.merged) {
    for (std::uint32_t shard = 0; shard < core_->shard_count(); ++shard) {
      world_.ledger.check_anchor(core_->shard(ShardId(shard)));
    }
  }
  schedule_tick(effects.deadline);
}

void WorkerNode::begin_step() {
  stepping_ = true;
  step_length_ = world_.sim.between(world_.swarm.step_min, world_.swarm.step_max);
  world_.sim.after(step_length_, [this, life = life_] {
    if (life == life_) end_step();
  });
}

void WorkerNode::end_step() {
  stepping_ = false;
  const std::vector<float> before = theta_;
  train();
  accounting_.on_step(before, theta_);
  world_.sim.record("step", index_);
  perform(
      [this](WorkerCore& core, TimePoint now) {
        return core.on_step(static_cast<std::uint64_t>(weight_), static_cast<float>(to_seconds(step_length_)),
                            parameters_, now);
      },
      false);
  check_waits();
  turn();
}

void WorkerNode::train() {
  for (std::size_t i = 0; i < theta_.size(); ++i) {
    const float pull = std::clamp(0.05F * (target_[i] - theta_[i]), -0.5F, 0.5F);
    theta_[i] += pull + 0.02F * static_cast<float>(random_.normal());
  }
}

void WorkerNode::check_waits() {
  for (std::uint32_t shard = 0; shard < core_->shard_count(); ++shard) {
    const auto& pending = core_->shard(ShardId(shard)).pending();
    if (pending && pending->steps_since > world_.swarm.max_local_steps) {
      world_.sim.fail("worker " + std::to_string(index_) + " made " + std::to_string(pending->steps_since) +
                      " steps beyond an unnamed push");
    }
  }
}

void WorkerNode::schedule_tick(std::optional<TimePoint> deadline) {
  if (!deadline || (tick_at_ && *tick_at_ <= *deadline)) return;
  tick_at_ = deadline;
  world_.sim.after(*deadline - world_.sim.now(), [this, life = life_, when = *deadline] {
    if (life != life_ || tick_at_ != when) return;
    tick_at_.reset();
    turn();
  });
}

}  // namespace godwit::sim
