#include "schema/replication.capnp.h"
#include "shared/base/check.h"
#include "shared/wire/capnp_message.h"
#include "shared/wire/control_fields.h"
#include "shared/wire/conversations.h"

namespace godwit::wire {

// ---- region server -> leader -------------------------------------------------------------------

WireMessage encode_one(const Subscribe& subscribe) {
  const auto fill = [&](schema::Subscribe::Builder out) {
    out.setShard(subscribe.shard.value());
    out.setRegion(subscribe.region.value());
    out.setEpoch(subscribe.epoch.value());
    out.setHave(subscribe.have.value());
    out.setHaveHash(subscribe.have_hash.value());
    out.setIncarnation(subscribe.incarnation.value());
  };
  return {MessageKind::kSubscribe, build_control<schema::Subscribe>(fill), {}};
}

Result<Message> decode_subscribe(ByteView control) {
  const auto convert = [](schema::Subscribe::Reader in) {
    return Result<Message>(
        Message(Subscribe{ShardId(in.getShard()), RegionId(in.getRegion()),
                          Incarnation(in.getIncarnation()), Epoch(in.getEpoch()),
                          Version(in.getHave()), Hash(in.getHaveHash())}));
  };
  return read_control<schema::Subscribe>("subscribe", control, convert);
}

WireMessage encode_one(const Offer& offer) {
  GODWIT_REQUIRE(offer.header != nullptr, "an offer travels with its encoded header");
  const auto fill = [&](schema::Offer::Builder out) { out.setEpoch(offer.epoch.value()); };
  WireMessage out{MessageKind::kOffer, build_control<schema::Offer>(fill), {offer.header}};
  out.payloads.insert(out.payloads.end(), offer.payloads.begin(), offer.payloads.end());
  return out;
}

Result<Message> decode_offer(ByteView control, PayloadList& payloads) {
  const auto convert = [&](schema::Offer::Reader in) {
    Offer offer{Epoch(in.getEpoch()), payloads.take(), {}};
    offer.payloads = payloads.take_rest();
    return Result<Message>(Message(std::move(offer)));
  };
  return read_control<schema::Offer>("offer", control, convert);
}

WireMessage encode_one(const EmptyOffer& offer) {
  const auto fill = [&](schema::EmptyOffer::Builder out) {
    out.setShard(offer.shard.value());
    out.setEpoch(offer.epoch.value());
    out.setRegion(offer.region.value());
    out.setRound(offer.round.value());
  };
  return {MessageKind::kEmptyOffer, build_control<schema::EmptyOffer>(fill), {}};
}

Result<Message> decode_empty_offer(ByteView control) {
  const auto convert = [](schema::EmptyOffer::Reader in) {
    return Result<Message>(Message(EmptyOffer{ShardId(in.getShard()), Epoch(in.getEpoch()),
                                              RegionId(in.getRegion()), Round(in.getRound())}));
  };
  return read_control<schema::EmptyOffer>("empty offer", control, convert);
}

WireMessage encode_one(const Replicated& replicated) {
  const auto fill = [&](schema::Replicated::Builder out) {
    out.setShard(replicated.shard.value());
    out.setRegion(replicated.region.value());
    out.setEpoch(replicated.epoch.value());
    out.setVersion(replicated.version.value());
    out.setHash(replicated.hash.value());
  };
  return {MessageKind::kReplicated, build_control<schema::Replicated>(fill), {}};
}

Result<Message> decode_replicated(ByteView control) {
  const auto convert = [](schema::Replicated::Reader in) {
    return Result<Message>(
        Message(Replicated{ShardId(in.getShard()), RegionId(in.getRegion()), Epoch(in.getEpoch()),
                           Version(in.getVersion()), Hash(in.getHash())}));
  };
  return read_control<schema::Replicated>("replicated", control, convert);
}

WireMessage encode_one(const Presence& presence) {
  const auto fill = [&](schema::Presence::Builder out) {
    out.setShard(presence.shard.value());
    out.setRegion(presence.region.value());
    out.setWorkers(presence.workers);
    out.setWeight(presence.weight);
    out.setStepSeconds(presence.step_seconds);
  };
  return {MessageKind::kPresence, build_control<schema::Presence>(fill), {}};
}

Result<Message> decode_presence(ByteView control) {
  const auto convert = [](schema::Presence::Reader in) {
    ControlFields fields("presence");
    Presence presence{ShardId(in.getShard()), RegionId(in.getRegion()), in.getWorkers(),
                      fields.amount("weight", in.getWeight()),
                      fields.amount("step seconds", in.getStepSeconds())};
    return fields.done<Message>(presence);
  };
  return read_control<schema::Presence>("presence", control, convert);
}

// ---- leader -> region server -------------------------------------------------------------------

WireMessage encode_one(const Lead& lead) {
  const auto fill = [&](schema::Lead::Builder out) {
    out.setShard(lead.shard.value());
    out.setEpoch(lead.epoch.value());
  };
  return {MessageKind::kLead, build_control<schema::Lead>(fill), {}};
}

Result<Message> decode_lead(ByteView control) {
  const auto convert = [](schema::Lead::Reader in) {
    return Result<Message>(Message(Lead{ShardId(in.getShard()), Epoch(in.getEpoch())}));
  };
  return read_control<schema::Lead>("lead", control, convert);
}

WireMessage encode_one(const Subscribed& subscribed) {
  const auto fill = [&](schema::Subscribed::Builder out) {
    out.setShard(subscribed.shard.value());
    out.setEpoch(subscribed.epoch.value());
    out.setHead(subscribed.head.value());
    out.setWatermark(subscribed.watermark.value());
    out.setMatched(subscribed.matched);
  };
  return {MessageKind::kSubscribed, build_control<schema::Subscribed>(fill), {}};
}

Result<Message> decode_subscribed(ByteView control) {
  const auto convert = [](schema::Subscribed::Reader in) {
    return Result<Message>(Message(Subscribed{ShardId(in.getShard()), Epoch(in.getEpoch()),
                                              Version(in.getHead()), Version(in.getWatermark()),
                                              in.getMatched()}));
  };
  return read_control<schema::Subscribed>("subscribed", control, convert);
}

WireMessage encode_one(const Replicate& replicate) {
  const auto fill = [&](schema::Replicate::Builder out) {
    out.setShard(replicate.shard.value());
    out.setEpoch(replicate.epoch.value());
    out.setWatermark(replicate.watermark.value());
  };
  WireMessage out{MessageKind::kReplicate, build_control<schema::Replicate>(fill), {}};
  put_entry(out.payloads, replicate.entry);
  return out;
}

Result<Message> decode_replicate(ByteView control, PayloadList& payloads) {
  const auto convert = [&](schema::Replicate::Reader in) -> Result<Message> {
    auto entry = take_entry(payloads);
    if (!entry) return entry.error();
    return Message(Replicate{ShardId(in.getShard()), Epoch(in.getEpoch()),
                             Version(in.getWatermark()), std::move(*entry)});
  };
  return read_control<schema::Replicate>("replicate", control, convert);
}

WireMessage encode_one(const Watermark& watermark) {
  const auto fill = [&](schema::Watermark::Builder out) {
    out.setShard(watermark.shard.value());
    out.setEpoch(watermark.epoch.value());
    out.setWatermark(watermark.watermark.value());
  };
  return {MessageKind::kWatermark, build_control<schema::Watermark>(fill), {}};
}

Result<Message> decode_watermark(ByteView control) {
  const auto convert = [](schema::Watermark::Reader in) {
    return Result<Message>(Message(
        Watermark{ShardId(in.getShard()), Epoch(in.getEpoch()), Version(in.getWatermark())}));
  };
  return read_control<schema::Watermark>("watermark", control, convert);
}

WireMessage encode_one(const Install& install) {
  const auto fill = [&](schema::Install::Builder out) {
    out.setShard(install.shard.value());
    out.setEpoch(install.epoch.value());
    out.setWatermark(install.watermark.value());
  };
  WireMessage out{MessageKind::kInstall, build_control<schema::Install>(fill), {}};
  put_snapshot(out.payloads, install.snapshot);
  return out;
}

Result<Message> decode_install(ByteView control, PayloadList& payloads) {
  const auto convert = [&](schema::Install::Reader in) -> Result<Message> {
    auto snapshot = take_snapshot(payloads);
    if (!snapshot) return snapshot.error();
    return Message(Install{ShardId(in.getShard()), Epoch(in.getEpoch()), Version(in.getWatermark()),
                           std::move(*snapshot)});
  };
  return read_control<schema::Install>("install", control, convert);
}

WireMessage encode_one(const OfferReply& reply) {
  const auto fill = [&](schema::OfferReply::Builder out) {
    out.setShard(reply.shard.value());
    out.setEpoch(reply.epoch.value());
    out.setSequence(reply.sequence.value());
    out.setOutcome(static_cast<std::uint8_t>(reply.outcome));
    out.setIncluded(reply.included.value());
    out.setExpected(reply.expected.value());
  };
  return {MessageKind::kOfferReply, build_control<schema::OfferReply>(fill), {}};
}

Result<Message> decode_offer_reply(ByteView control) {
  const auto convert = [](schema::OfferReply::Reader in) {
    ControlFields fields("offer reply");
    OfferReply reply;
    reply.shard = ShardId(in.getShard());
    reply.epoch = Epoch(in.getEpoch());
    reply.sequence = SequenceNo(in.getSequence());
    reply.outcome = fields.member("outcome", in.getOutcome(), OfferOutcome::kAccepted,
                                  OfferOutcome::kWrongEpoch);
    reply.included = Version(in.getIncluded());
    reply.expected = SequenceNo(in.getExpected());
    return fields.done<Message>(reply);
  };
  return read_control<schema::OfferReply>("offer reply", control, convert);
}

}  // namespace godwit::wire
