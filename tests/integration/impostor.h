// Impostor: a peer with a certificate of the cluster that says what it should not. It speaks the protocol well;
// for one that does not, see tests/unit/net/stranger.h.
#pragma once

#include <vector>

#include "shared/net/certificates.h"
#include "shared/net/cluster_config.h"
#include "shared/net/message_stream.h"

namespace godwit::integration {

// The authority of this cluster, key included.
net::CertifiedKey authority(const ClusterConfig& config);
// A certificate of this cluster's own authority, for whomever.
net::CertifiedKey forge(const ClusterConfig& config, const net::Identity& identity);

// Opens a conversation with `server` as the holder of `own`, says everything, and listens until a PushReply
// comes, or the end: its reason.
Result<PushReply> say(const ClusterConfig& config, const ServerConfig& server, const net::CertifiedKey& own,
                      std::vector<net::Incoming> messages);

}  // namespace godwit::integration
