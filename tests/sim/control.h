// Control: the control store of the cluster, and the network between it and the servers: what is
// asked and what is answered comes late, twice, or never. The store itself is the real one.
#pragma once

#include <functional>
#include <vector>

#include "server/control/control_state.h"
#include "server/core/mode_setting.h"
#include "server/storage/memory_store.h"
#include "tests/sim/ledger.h"

namespace godwit::sim {

class Control {
 public:
  using Answer = std::function<void(const ControlReply&)>;

  Control(Simulator& sim, const Swarm& swarm, Ledger& ledger, const bool& faulty);

  // From a region's server. REQUIRES: `answer` may be called any number of times.
  void request(RegionId from, const ControlRequest& request, const Answer& answer);
  // At once: for the simulator itself.
  ControlReply ask(const ControlRequest& request);
  // What a key holds; revision 0: nothing.
  ControlItem item(std::string_view key);
  // Compare-and-swap on what `held` says.
  void set(const ControlItem& held, Bytes value);
  ModeSetting mode();
  RestoreSetting restore();
  HeldRecord record(ShardId shard);

  // Nothing passes between this region and the store until then.
  void block(RegionId region, TimePoint until);
  // The store dies and comes back from its disk.
  void crash();
  // Its clock runs ahead: leases end early.
  void jump(Duration ahead) { ahead_ += ahead; }

 private:
  void arrive(RegionId from, const ControlRequest& request, const Answer& answer);
  bool blocked(RegionId region) const { return sim_.now() < blocked_until_[region.value()]; }
  // How often a message passes: 1, or now and then 0 or 2.
  int copies();
  Duration delay();

  Simulator& sim_;
  const Swarm& swarm_;
  Ledger& ledger_;
  const bool& faulty_;
  MemoryStore store_;
  ControlState state_;
  TimePoint down_until_{};
  std::vector<TimePoint> blocked_until_;  // per region
  Duration ahead_{};
};

}  // namespace godwit::sim
