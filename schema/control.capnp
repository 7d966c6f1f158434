# Between a server and the control store of the cluster. Limits and meaning: shared/protocol/control_messages.h.
@0xa94c27e80b5d1f04;

using Cxx = import "/capnp/c++.capnp";
$Cxx.namespace("godwit::schema");

struct ControlRequest {             # payloads: the value
  call @0 :UInt64;                  # the reply repeats it
  kind @1 :UInt8;                   # numbers of godwit::ControlKind
  key @2 :Text;
  expectedRevision @3 :UInt64;
  ttlNanoseconds @4 :UInt64;
  sinceRevision @5 :UInt64;
  waitNanoseconds @6 :UInt64;
}

# payloads: the items, each as key (u32 length, bytes), revision (u64), value (u32 length, bytes)
struct ControlReply {
  call @0 :UInt64;
  error @1 :UInt16;                 # numbers of godwit::Errc; 0: none
  detail @2 :Text;
  itemCount @3 :UInt32;
  revision @4 :UInt64;
  more @5 :Bool;
}
