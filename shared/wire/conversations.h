// One overload of encode() and one decode function for each alternative of Message, by
// conversation. decode functions take their payloads from the list; wire_message.cpp checks that
// none is left.
#pragma once

#include "shared/wire/payload_list.h"
#include "shared/wire/wire_message.h"

namespace godwit::wire {

// ---- worker <-> its region's server (worker_wire.cpp) -----------------------------------------
WireMessage encode_one(const ManifestOffer& offer);
WireMessage encode_one(const Join& join);
WireMessage encode_one(const Leave& leave);
WireMessage encode_one(const Push& push);
WireMessage encode_one(const Skip& skip);
WireMessage encode_one(const Pull& pull);
WireMessage encode_one(const ManifestReply& reply);
WireMessage encode_one(const PushReply& reply);
WireMessage encode_one(const PullReply& reply);
WireMessage encode_one(const Announce& announce);
WireMessage encode_one(const Stop& stop);
Result<Message> decode_manifest_offer(ByteView control, PayloadList& payloads);
Result<Message> decode_join(ByteView control);
Result<Message> decode_leave(ByteView control);
Result<Message> decode_push(ByteView control, PayloadList& payloads);
Result<Message> decode_skip(ByteView control);
Result<Message> decode_pull(ByteView control);
Result<Message> decode_manifest_reply(ByteView control, PayloadList& payloads);
Result<Message> decode_push_reply(ByteView control);
Result<Message> decode_pull_reply(ByteView control, PayloadList& payloads);
Result<Message> decode_announce(ByteView control);
Result<Message> decode_stop(ByteView control);

// ---- region server <-> leader (replication_wire.cpp) ------------------------------------------
WireMessage encode_one(const Subscribe& subscribe);
WireMessage encode_one(const Offer& offer);
WireMessage encode_one(const EmptyOffer& offer);
WireMessage encode_one(const Replicated& replicated);
WireMessage encode_one(const Presence& presence);
WireMessage encode_one(const Lead& lead);
WireMessage encode_one(const Subscribed& subscribed);
WireMessage encode_one(const Replicate& replicate);
WireMessage encode_one(const Watermark& watermark);
WireMessage encode_one(const Install& install);
WireMessage encode_one(const OfferReply& reply);
Result<Message> decode_subscribe(ByteView control);
Result<Message> decode_offer(ByteView control, PayloadList& payloads);
Result<Message> decode_empty_offer(ByteView control);
Result<Message> decode_replicated(ByteView control);
Result<Message> decode_presence(ByteView control);
Result<Message> decode_lead(ByteView control);
Result<Message> decode_subscribed(ByteView control);
Result<Message> decode_replicate(ByteView control, PayloadList& payloads);
Result<Message> decode_watermark(ByteView control);
Result<Message> decode_install(ByteView control, PayloadList& payloads);
Result<Message> decode_offer_reply(ByteView control);

}  // namespace godwit::wire
