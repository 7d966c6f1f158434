#include "schema/worker.capnp.h"
#include "shared/base/check.h"
#include "shared/wire/capnp_message.h"
#include "shared/wire/control_fields.h"
#include "shared/wire/conversations.h"

namespace godwit::wire {
namespace {

void put(schema::PushId::Builder out, const PushId& id) {
  out.setWorker(id.worker.value());
  out.setIncarnation(id.incarnation.value());
  out.setSequence(id.sequence.value());
}

PushId get(schema::PushId::Reader in) {
  return {WorkerId(in.getWorker()), Incarnation(in.getIncarnation()), SequenceNo(in.getSequence())};
}

ByteView bytes_of(capnp::Data::Reader data) {
  return std::as_bytes(std::span(data.begin(), data.size()));
}

NamedPush get(ControlFields& fields, schema::NamedPush::Reader in) {
  return {get(in.getId()), Version(in.getVersion()),
          fields.member("verdict", in.getVerdict(), Verdict::kApplied, Verdict::kDiscarded)};
}

// What kEntries and kSnapshot carry beside the control part.
Result<void> take_pull_payloads(PullReply& reply, std::uint32_t entry_count,
                                PayloadList& payloads) {
  if (entry_count > payloads.remaining()) {
    return Error{Errc::kMalformed, "pull reply: more entries than payloads"};
  }
  for (std::uint32_t i = 0; i < entry_count; ++i) {
    auto entry = take_entry(payloads);
    if (!entry) return entry.error();
    reply.entries.push_back(std::move(*entry));
  }
  if (reply.outcome != PullOutcome::kSnapshot) return {};
  auto snapshot = take_snapshot(payloads);
  if (!snapshot) return snapshot.error();
  reply.snapshot = std::move(*snapshot);
  return {};
}

}  // namespace

// ---- worker -> server --------------------------------------------------------------------------

WireMessage encode_one(const ManifestOffer& offer) {
  return {MessageKind::kManifestOffer,
          build_control<schema::ManifestOffer>([](auto) {}),
          {share(offer.manifest.encode())}};
}

Result<Message> decode_manifest_offer(ByteView control, PayloadList& payloads) {
  const auto convert = [&](schema::ManifestOffer::Reader) -> Result<Message> {
    auto manifest = Manifest::decode(*payloads.take());
    if (!manifest) return manifest.error();
    return Message(ManifestOffer{std::move(*manifest)});
  };
  return read_control<schema::ManifestOffer>("manifest offer", control, convert);
}

WireMessage encode_one(const Join& join) {
  const auto fill = [&](schema::Join::Builder out) { out.setWeight(join.weight); };
  return {MessageKind::kJoin, build_control<schema::Join>(fill), {}};
}

Result<Message> decode_join(ByteView control) {
  const auto convert = [](schema::Join::Reader in) {
    ControlFields fields("join");
    const Join join{fields.amount("weight", in.getWeight())};
    return fields.done<Message>(join);
  };
  return read_control<schema::Join>("join", control, convert);
}

WireMessage encode_one(const Leave&) {
  return {MessageKind::kLeave, build_control<schema::Leave>([](auto) {}), {}};
}

Result<Message> decode_leave(ByteView control) {
  const auto convert = [](schema::Leave::Reader) { return Result<Message>(Message(Leave{})); };
  return read_control<schema::Leave>("leave", control, convert);
}

WireMessage encode_one(const Push& push) {
  const Bytes header = push.header.encode();
  const auto fill = [&](schema::Push::Builder out) {
    const auto* bytes = reinterpret_cast<const kj::byte*>(header.data());
    out.setHeader(capnp::Data::Reader(bytes, header.size()));
  };
  return {MessageKind::kPush, build_control<schema::Push>(fill), push.payloads};
}

Result<Message> decode_push(ByteView control, PayloadList& payloads) {
  const auto convert = [&](schema::Push::Reader in) -> Result<Message> {
    const auto header = PushHeader::decode(bytes_of(in.getHeader()));
    if (!header) return header.error();
    return Message(Push{*header, payloads.take_rest()});
  };
  return read_control<schema::Push>("push", control, convert);
}

WireMessage encode_one(const Skip& skip) {
  const auto fill = [&](schema::Skip::Builder out) {
    out.setShard(skip.shard.value());
    out.setRound(skip.round.value());
  };
  return {MessageKind::kSkip, build_control<schema::Skip>(fill), {}};
}

Result<Message> decode_skip(ByteView control) {
  const auto convert = [](schema::Skip::Reader in) {
    return Result<Message>(Message(Skip{ShardId(in.getShard()), Round(in.getRound())}));
  };
  return read_control<schema::Skip>("skip", control, convert);
}

WireMessage encode_one(const Pull& pull) {
  const auto fill = [&](schema::Pull::Builder out) {
    out.setShard(pull.shard.value());
    out.setHave(pull.have.value());
    out.setHaveHash(pull.have_hash.value());
    if (pull.pending) put(out.initPending(), *pull.pending);
    out.setWaitMs(pull.wait_ms);
  };
  return {MessageKind::kPull, build_control<schema::Pull>(fill), {}};
}

Result<Message> decode_pull(ByteView control) {
  const auto convert = [](schema::Pull::Reader in) {
    Pull pull{
        ShardId(in.getShard()), Version(in.getHave()), Hash(in.getHaveHash()), {}, in.getWaitMs()};
    if (in.hasPending()) pull.pending = get(in.getPending());
    return Result<Message>(Message(std::move(pull)));
  };
  return read_control<schema::Pull>("pull", control, convert);
}

// ---- server -> worker --------------------------------------------------------------------------

WireMessage encode_one(const ManifestReply& reply) {
  const std::string detail = cut_text(reply.detail);
  const auto fill = [&](schema::ManifestReply::Builder out) {
    out.setKnown(reply.manifest.has_value());
    out.setError(static_cast<std::uint16_t>(reply.error));
    out.setDetail(text_field(detail));
  };
  WireMessage out{MessageKind::kManifestReply, build_control<schema::ManifestReply>(fill), {}};
  if (reply.manifest) out.payloads.push_back(share(reply.manifest->encode()));
  return out;
}

Result<Message> decode_manifest_reply(ByteView control, PayloadList& payloads) {
  const auto convert = [&](schema::ManifestReply::Reader in) -> Result<Message> {
    ControlFields fields("manifest reply");
    ManifestReply reply;
    reply.error = fields.error_code("error", in.getError());
    reply.detail = fields.text("detail", in.getDetail());
    if (in.getKnown()) {
      auto manifest = Manifest::decode(*payloads.take());
      if (!manifest) return manifest.error();
      reply.manifest = std::move(*manifest);
    }
    return fields.done<Message>(std::move(reply));
  };
  return read_control<schema::ManifestReply>("manifest reply", control, convert);
}

WireMessage encode_one(const PushReply& reply) {
  const std::string detail = cut_text(reply.detail);
  const auto fill = [&](schema::PushReply::Builder out) {
    out.setShard(reply.shard.value());
    put(out.initId(), reply.id);
    out.setOutcome(static_cast<std::uint8_t>(reply.outcome));
    out.setReason(static_cast<std::uint16_t>(reply.reason));
    out.setDetail(text_field(detail));
    out.setRetryAfterMs(reply.retry_after_ms);
    out.setNewest(reply.newest.value());
  };
  return {MessageKind::kPushReply, build_control<schema::PushReply>(fill), {}};
}

Result<Message> decode_push_reply(ByteView control) {
  const auto convert = [](schema::PushReply::Reader in) {
    ControlFields fields("push reply");
    PushReply reply;
    reply.shard = ShardId(in.getShard());
    reply.id = get(in.getId());
    reply.outcome = fields.member("outcome", in.getOutcome(), PushOutcome::kAcknowledged,
                                  PushOutcome::kRefused);
    reply.reason = fields.error_code("reason", in.getReason());
    reply.detail = fields.text("detail", in.getDetail());
    reply.retry_after_ms = in.getRetryAfterMs();
    reply.newest = Incarnation(in.getNewest());
    return fields.done<Message>(std::move(reply));
  };
  return read_control<schema::PushReply>("push reply", control, convert);
}

WireMessage encode_one(const PullReply& reply) {
  GODWIT_REQUIRE(reply.snapshot.has_value() == (reply.outcome == PullOutcome::kSnapshot),
                 "a snapshot comes exactly with kSnapshot");
  GODWIT_REQUIRE(reply.entries.empty() || reply.outcome == PullOutcome::kEntries,
                 "entries come only with kEntries");
  const auto fill = [&](schema::PullReply::Builder out) {
    out.setShard(reply.shard.value());
    out.setOutcome(static_cast<std::uint8_t>(reply.outcome));
    out.setEntryCount(static_cast<std::uint32_t>(reply.entries.size()));
    if (!reply.named) return;
    auto named = out.initNamed();
    put(named.initId(), reply.named->id);
    named.setVersion(reply.named->version.value());
    named.setVerdict(static_cast<std::uint8_t>(reply.named->verdict));
  };
  WireMessage out{MessageKind::kPullReply, build_control<schema::PullReply>(fill), {}};
  for (const Entry& entry : reply.entries) put_entry(out.payloads, entry);
  if (reply.snapshot) put_snapshot(out.payloads, *reply.snapshot);
  return out;
}

Result<Message> decode_pull_reply(ByteView control, PayloadList& payloads) {
  const auto convert = [&](schema::PullReply::Reader in) -> Result<Message> {
    ControlFields fields("pull reply");
    PullReply reply;
    reply.shard = ShardId(in.getShard());
    reply.outcome = fields.member("outcome", in.getOutcome(), PullOutcome::kNotModified,
                                  PullOutcome::kSnapshot);
    if (in.hasNamed()) reply.named = get(fields, in.getNamed());
    if (in.getEntryCount() > 0 && reply.outcome != PullOutcome::kEntries)
      fields.reject("unexpected entries");
    if (!fields.ok()) return fields.error();
    const auto taken = take_pull_payloads(reply, in.getEntryCount(), payloads);
    if (!taken) return taken.error();
    return Message(std::move(reply));
  };
  return read_control<schema::PullReply>("pull reply", control, convert);
}

WireMessage encode_one(const Announce& announce) {
  const auto fill = [&](schema::Announce::Builder out) {
    out.setShard(announce.shard.value());
    out.setEpoch(announce.epoch.value());
    out.setRound(announce.round.value());
    out.setWindowMs(announce.window_ms);
  };
  return {MessageKind::kAnnounce, build_control<schema::Announce>(fill), {}};
}

Result<Message> decode_announce(ByteView control) {
  const auto convert = [](schema::Announce::Reader in) {
    return Result<Message>(Message(Announce{ShardId(in.getShard()), Epoch(in.getEpoch()),
                                            Round(in.getRound()), in.getWindowMs()}));
  };
  return read_control<schema::Announce>("announce", control, convert);
}

WireMessage encode_one(const Stop& stop) {
  const std::string reason = cut_text(stop.reason);
  const auto fill = [&](schema::Stop::Builder out) { out.setReason(text_field(reason)); };
  return {MessageKind::kStop, build_control<schema::Stop>(fill), {}};
}

Result<Message> decode_stop(ByteView control) {
  const auto convert = [](schema::Stop::Reader in) {
    ControlFields fields("stop");
    Stop stop{fields.text("reason", in.getReason())};
    return fields.done<Message>(std::move(stop));
  };
  return read_control<schema::Stop>("stop", control, convert);
}

}  // namespace godwit::wire
