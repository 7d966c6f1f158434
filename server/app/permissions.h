// Who may say what to a region server: the one place that knows. Roles and regions come from
// certificates, so what a peer claims in a message is compared with them here, before any core sees
// it. Pure.
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
};

// Workers of this region and servers of the others may open a conversation. Error: kForbidden.
Result<void> may_converse(const net::Identity& peer, const Standpoint& here);
// HELLO repeats what the certificate says: whoever says something else was started with another's files. kForbidden.
Result<void> may_greet(const net::Identity& peer, const wire::Hello& hello);
// A worker trains: it offers a model, joins, pushes and pulls in its own name. Errors: kForbidden.
Result<void> may_send(WorkerId from, const net::Incoming& incoming);
// A region speaks about itself, or as a leader: who leads changes, so epochs judge that, in the
// core. The control host answers; what is asked of it concerns the asker's own lease, or a shard,
// the mode or the manifest. Errors: kForbidden; kMalformed, kUnsupported: a contribution whose
// header does not decode.
Result<void> may_send(RegionId from, const net::Incoming& incoming, const Standpoint& here);

}  // namespace godwit::app
