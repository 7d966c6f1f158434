// How a connection begins: the dialer says who it is and what it knows, the server answers before
// any payload. Control parts of kHello and kWelcome.
#pragma once

#include <cstdint>
#include <string>

#include "shared/base/bytes.h"
#include "shared/base/result.h"
#include "shared/protocol/push.h"

namespace godwit::wire {

inline constexpr std::uint16_t kConversationVersion = 1;  // of the messages, not of the frames
inline constexpr std::size_t kMaxNameBytes = 256;

// Cluster, role, region and name repeat the certificate's, so that a mistake can be named.
struct Hello {
  std::uint16_t protocol_version = kConversationVersion;
  std::string cluster;
  std::string role;  // "server", "worker", "operator"
  std::string region;
  std::string name;
  Hash run_hash;  // hash of the run that the dialer knows; 0: none yet
  bool operator==(const Hello&) const = default;
};

// The server's region, and the settings of the run that a worker needs.
struct Welcome {
  std::string region;
  RegionId region_index;
  std::uint32_t region_count = 0;
  std::uint32_t shard_count = 0;
  Incarnation incarnation;  // of the server's data directory
  CodecSpec lan_codec;
  std::uint32_t window_ms = 0;        // aligned async: shortest window between rounds
  std::uint32_t max_local_steps = 0;  // a worker that is so many steps ahead waits
  std::uint64_t max_push_tokens = 0;  // a push that holds more is refused
  std::string acknowledgement;        // "memory", "region", "committed", "replicated"
  std::uint32_t sync_steps = 0;       // H of the sync mode
  bool operator==(const Welcome&) const = default;
};

// REQUIRES: names of at most kMaxNameBytes.
Bytes encode(const Hello& hello);
Bytes encode(const Welcome& welcome);
// Errors: kMalformed, kTooLarge, kUnsupported (another protocol version).
Result<Hello> decode_hello(ByteView control);
Result<Welcome> decode_welcome(ByteView control);

}  // namespace godwit::wire
