# Between a worker and its region's server. Tensors, manifests and encoded entries are payloads beside the
# message, in the order that each struct states.
@0xd2a7e5164b8c3902;

using Cxx = import "/capnp/c++.capnp";
using Common = import "opening.capnp";
$Cxx.namespace("godwit::schema");

# ---- worker -> server ----

struct ManifestOffer {}           # payloads: the encoded manifest

struct Join {
  weight @0 :Float32;             # tokens per step
}

struct Leave {}

struct Push {                     # payloads: one per block of the shard
  header @0 :Data;                # encoded PushHeader
}

struct Skip {
  shard @0 :UInt32;
  round @1 :UInt64;
}

struct Pull {
  shard @0 :UInt32;
  have @1 :UInt64;
  haveHash @2 :UInt64;
  pending @3 :Common.PushId;      # absent: no push is pending
  waitMs @4 :UInt32;
}

# ---- server -> worker ----

struct ManifestReply {            # payloads: the encoded manifest, when known
  known @0 :Bool;
  error @1 :UInt16;               # numbers of godwit::Errc
  detail @2 :Text;
}

struct PushReply {
  shard @0 :UInt32;
  id @1 :Common.PushId;
  outcome @2 :UInt8;              # numbers of godwit::PushOutcome
  reason @3 :UInt16;              # numbers of godwit::Errc
  detail @4 :Text;
  retryAfterMs @5 :UInt32;
  newest @6 :UInt64;              # refused as of an older process: the incarnation of the newest; else 0
}

# payloads: kEntries: for each entry its encoded header, then one per block that the header lists;
# kSnapshot: as Install
struct PullReply {
  shard @0 :UInt32;
  outcome @1 :UInt8;              # numbers of godwit::PullOutcome
  entryCount @2 :UInt32;
  named @3 :Common.NamedPush;     # absent: the pending push was not named
}

struct Announce {
  shard @0 :UInt32;
  epoch @1 :UInt64;
  round @2 :UInt64;
  windowMs @3 :UInt32;
}

struct Stop {
  reason @0 :Text;
}
