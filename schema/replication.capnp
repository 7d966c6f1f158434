# Between a region's server and the leader of a shard. Encoded headers and blocks are payloads beside the
# message, in the order that each struct states.
@0xf38b06d7c1a25e03;

using Cxx = import "/capnp/c++.capnp";
$Cxx.namespace("godwit::schema");

# ---- region server -> leader ----

struct Subscribe {
  shard @0 :UInt32;
  region @1 :UInt32;
  epoch @2 :UInt64;
  have @3 :UInt64;
  haveHash @4 :UInt64;
  incarnation @5 :UInt64;         # of the replica's data directory
}

struct Offer {                    # payloads: the encoded ContributionHeader, then one per block it lists
  epoch @0 :UInt64;
}

struct EmptyOffer {
  shard @0 :UInt32;
  epoch @1 :UInt64;
  region @2 :UInt32;
  round @3 :UInt64;
}

struct Replicated {
  shard @0 :UInt32;
  region @1 :UInt32;
  epoch @2 :UInt64;
  version @3 :UInt64;
  hash @4 :UInt64;
}

struct Presence {
  shard @0 :UInt32;
  region @1 :UInt32;
  workers @2 :UInt32;
  weight @3 :Float64;
  stepSeconds @4 :Float32;
}

# ---- leader -> region server ----

struct Lead {
  shard @0 :UInt32;
  epoch @1 :UInt64;
}

struct Subscribed {
  shard @0 :UInt32;
  epoch @1 :UInt64;
  head @2 :UInt64;
  watermark @3 :UInt64;
  matched @4 :Bool;               # if not, an Install follows
}

struct Replicate {                # payloads: the encoded EntryHeader, then one per block it lists
  shard @0 :UInt32;
  epoch @1 :UInt64;
  watermark @2 :UInt64;
}

struct Watermark {
  shard @0 :UInt32;
  epoch @1 :UInt64;
  watermark @2 :UInt64;
}

# payloads: the encoded EntryHeader, the producer table, the table of named pushes, then one per block
struct Install {
  shard @0 :UInt32;
  epoch @1 :UInt64;
  watermark @2 :UInt64;
}

struct OfferReply {
  shard @0 :UInt32;
  epoch @1 :UInt64;
  sequence @2 :UInt64;
  outcome @3 :UInt8;              # numbers of godwit::OfferOutcome
  included @4 :UInt64;
  expected @5 :UInt64;
}
