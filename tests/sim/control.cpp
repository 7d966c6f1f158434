#include "tests/sim/control.h"

namespace godwit::sim {
namespace {

ControlRequest get_request(std::string key) {
  ControlRequest request;
  request.key = std::move(key);
  return request;
}

}  // namespace

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
  }
  return step.reply;
}

ModeSetting Control::mode() {
  const ControlReply reply = ask(get_request(std::string(control_keys::kRunMode)));
  return reply.items.empty() ? ModeSetting() : *ModeSetting::decode(reply.items.front().value);
}

HeldRecord Control::record(ShardId shard) {
  const ControlReply reply = ask(get_request(control_keys::shard_leader(shard)));
  if (reply.items.empty()) return {};
  return {*ShardRecord::decode(reply.items.front().value), reply.items.front().revision};
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
