// Error codes, grouped by what the caller should do about them. A code exists only if some caller
// reacts to it. The numbers travel on the wire and in logs and are never reused: schema/README.md.
#pragma once

#include <cstdint>
#include <string_view>

namespace godwit {

enum class Errc : std::uint16_t {
  // retry now or later, with back-off
  kOverloaded = 101,        // a named limit is full; the reply says after how long to retry
  kUnavailable = 102,       // the peer, leader or control store cannot be reached now
  kTimedOut = 103,          // a deadline passed; what was asked may still happen
  // reconnect, then carry on
  kClosed = 201,            // the peer closed the stream, or we are stopping
  kWrongEpoch = 202,        // stamped with an epoch that is no longer (or not yet) the leader's
  kNotLeader = 203,         // this replica follows
  // reload state, then carry on
  kForked = 301,            // the version's hash is not ours: truncate and reload
  kGap = 302,               // a sequence number was skipped; the reply names the expected one
  kGone = 303,              // older than what is retained
  // give up on this input
  kMalformed = 401,         // bytes that do not parse
  kTooLarge = 402,          // above a negotiated length
  kUnsupported = 403,       // unknown codec, kind, or protocol version
  kInvalid = 404,           // parses, but breaks a rule: shape, size, finite values, caps
  kConflict = 405,          // compare-and-swap lost, manifest or configuration differs
  kNotFound = 406,
  // give up on this peer
  kUnauthenticated = 501,   // no valid certificate
  kForbidden = 502,         // valid identity, not allowed to do this
  // give up on this process
  kCorrupt = 601,           // a stored record fails its hash
  kIo = 602,                // the operating system refused
  kConfig = 603,            // a flag or configuration file is wrong
  kInternal = 900,          // a bug of ours
};

// Stable lower-case name, such as "wrong-epoch": used in logs, metrics labels and messages.
std::string_view name(Errc code);

}  // namespace godwit
