#include "tests/sim/control.h"

namespace godwit::sim {
Control::Control(Simulator& sim, const Swarm& swarm, Ledger& ledger, const bool& faulty)
    : sim_(sim),
      swarm_(swarm),
      ledger_(ledger),
      faulty_(faulty),
      state_(*ControlState::load(store_, sim.now())),
      blocked_until_(swarm.run.regions) {}

int Control::copies() {
  if (!faulty_ || !swarm_.faults.control_messages) return 1;
  const double roll = sim_.random().uniform();
  if (roll < 0.03) ++sim_.counters()[Count::kControlLost];
  if (roll > 0.95) ++sim_.counters()[Count::kControlTwice];
  return roll < 0.03 ? 0 : roll > 0.95 ? 2 : 1;
}

Duration Control::delay() {
  Duration delay = sim_.between(swarm_.region_delay_min, swarm_.region_delay_max);
  if (faulty_ && swarm_.faults.control_messages && sim_.random().chance(0.03)) {
    delay += sim_.between(milliseconds(200), milliseconds(5000));
  }
  return delay;
}

void Control::request(RegionId from, const ControlRequest& request, const Answer& answer) {
  if (blocked(from)) return;
  for (int copy = copies(); copy > 0; --copy) {
    sim_.after(delay(), [this, from, request, answer] { arrive(from, request, answer); });
  }
}

void Control::arrive(RegionId from, const ControlRequest& request, const Answer& answer) {
  if (blocked(from) || sim_.now() < down_until_) return;
  const ControlReply reply = ask(request);
  for (int copy = copies(); copy > 0; --copy) {
    sim_.after(delay(), [this, from, reply, answer] {
      if (!blocked(from)) answer(reply);
    });
  }
}

ControlReply Control::ask(const ControlRequest& request) {
  ControlStep step = state_.handle(request, sim_.now() + ahead_);
  if (step.batch.empty()) return step.reply;
  const Result<void> written = store_.write(step.batch);
  GODWIT_CHECK(written.has_value(), "the control store's disk does not fail");
  if (request.kind != ControlKind::kCompareAndSwap || step.reply.error) return step.reply;
  if (const auto shard = control_keys::parse_id(request.key, control_keys::kShards, "/leader")) {
    ledger_.on_shard_record(ShardId(*shard), *ShardRecord::decode(request.value));
  } else if (request.key == control_keys::kRunRestore) {
    ledger_.on_restore(*RestoreSetting::decode(request.value));
  }
  return step.reply;
}

ControlItem Control::item(std::string_view key) {
  ControlRequest get;
  get.key = std::string(key);
  const ControlReply reply = ask(get);
  return reply.items.empty() ? ControlItem{get.key, {}, {}} : reply.items.front();
}

void Control::set(const ControlItem& held, Bytes value) {
  ControlRequest swap;
  swap.kind = ControlKind::kCompareAndSwap;
  swap.key = held.key;
  swap.expected_revision = held.revision;
  swap.value = std::move(value);
  ask(swap);
}

ModeSetting Control::mode() {
  const ControlItem held = item(control_keys::kRunMode);
  return held.value.empty() ? ModeSetting() : *ModeSetting::decode(held.value);
}

RestoreSetting Control::restore() {
  const ControlItem held = item(control_keys::kRunRestore);
  return held.value.empty() ? RestoreSetting() : *RestoreSetting::decode(held.value);
}

HeldRecord Control::record(ShardId shard) {
  const ControlItem held = item(control_keys::shard_leader(shard));
  if (held.value.empty()) return {};
  return {*ShardRecord::decode(held.value), held.revision};
}

void Control::block(RegionId region, TimePoint until) {
  blocked_until_[region.value()] = std::max(blocked_until_[region.value()], until);
}

void Control::crash() {
  sim_.record("control store dies");
  ++sim_.counters()[Count::kControlCrashes];
  store_.crash(sim_.random());
  Result<ControlState> loaded = ControlState::load(store_, sim_.now() + ahead_);
  if (!loaded)
    return sim_.fail("the control store does not come back: " + loaded.error().to_string());
  state_ = std::move(*loaded);
  down_until_ = sim_.now() + sim_.between(milliseconds(50), milliseconds(3000));
}

}  // namespace godwit::sim
