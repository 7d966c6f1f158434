// Control: what the control store would hold: the epoch of each shard and the run's mode.
#pragma once

#include <vector>

#include "server/core/leader.h"

namespace godwit::sim {

struct Control {
  std::vector<Epoch> epochs;  // per shard; +1 at every start of a leader
  ModeSetting mode;           // mode_epoch 0: never set

  Epoch take_epoch(ShardId shard) { return epochs[shard.value()] = epochs[shard.value()].next(); }
};

}  // namespace godwit::sim
