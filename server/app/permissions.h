// Who may say what to a region server: the one place that knows. Roles and regions come from certificates, so
// what a peer claims in a message is compared with them here, before any core sees it. Pure.
#pragma once

#include "shared/net/cluster_config.h"
#include "shared/net/identity.h"
#include "shared/net/message_stream.h"

namespace godwit::app {

// XXH3-64 of "region/name": how a worker is called in pushes and entries.
WorkerId worker_id(const net::Identity& identity);

// Where this server stands in its cluster.
struct Standpoint {
  const ClusterConfig& config;
  RegionId self;
  bool leads(ShardId shard) const { return is_leader(self, shard); }
  bool is_leader(RegionId region, ShardId shard) const {
    return shard.value() < config.run.leaders.size() && config.run.leaders[shard.value()] == region;
  }
};

// Workers of this region and servers of the others may open a conversation. Error: kForbidden.
Result<void> may_converse(const net::Identity& peer, const Standpoint& here);
// A worker trains: it offers a model, joins, pushes and pulls in its own name. Errors: kForbidden.
Result<void> may_send(WorkerId from, const net::Incoming& incoming);
// A region talks to leaders about itself, a leader to its followers, the control host answers.
// Errors: kForbidden; kMalformed, kUnsupported: a contribution whose header does not decode.
Result<void> may_send(RegionId from, const net::Incoming& incoming, const Standpoint& here);

}  // namespace godwit::app
