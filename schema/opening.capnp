# What several conversations use, and how a connection begins.
@0xb1f0c8d3a96e4701;

using Cxx = import "/capnp/c++.capnp";
$Cxx.namespace("godwit::schema");

struct PushId {
  worker @0 :UInt64;
  incarnation @1 :UInt64;
  sequence @2 :UInt64;
}

# Where a push was named, and how. verdict: numbers of godwit::Verdict.
struct NamedPush {
  id @0 :PushId;
  version @1 :UInt64;
  verdict @2 :UInt8;
}

# The dialer's first message.
struct Hello {
  protocolVersion @0 :UInt16;
  cluster @1 :Text;
  role @2 :Text;      # "server", "worker", "operator"
  region @3 :Text;
  name @4 :Text;
  runHash @5 :UInt64; # hash of the run that the dialer knows; 0: none yet
}

# The server's answer, before any payload.
struct Welcome {
  region @0 :Text;              # the server's
  regionIndex @1 :UInt32;
  regionCount @2 :UInt32;
  shardCount @3 :UInt32;
  incarnation @4 :UInt64;       # of the server's data directory
  lanCodec @5 :UInt8;           # wire byte of a CodecSpec
  windowMs @6 :UInt32;          # aligned async: shortest window between rounds
  maxLocalSteps @7 :UInt32;     # a worker waits when it is that many steps ahead
  maxPushTokens @8 :UInt64;     # admission refuses a push that holds more
  acknowledgement @9 :Text;     # "memory", "region", "committed", "replicated"
  syncSteps @10 :UInt32;        # H of the sync mode
}
