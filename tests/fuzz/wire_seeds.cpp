// Seeds of what travels: a message of every kind, frames, openings, control messages.
#include "shared/wire/control_wire.h"
#include "shared/wire/hello.h"
#include "shared/wire/transfer.h"
#include "tests/fuzz/input.h"
#include "tests/fuzz/seeds.h"
#include "tests/fuzz/stored_log.h"
#include "tests/unit/core/bench.h"

namespace godwit::fuzz {
namespace {

constexpr Version kVersion{9};

Entry entry() {
  MemoryStore store;
  fill(store, stored_records(0));
  auto read = records::read_entry(store, ShardId(), kVersion);
  GODWIT_CHECK(read && *read, "the stored log has this version");
  return std::move(**read);
}

Snapshot snapshot() {
  Snapshot snapshot;
  snapshot.entry = entry().encoded;
  snapshot.producers = {Bytes(28, std::byte{1})};
  snapshot.blocks = {share(Bytes(8)), share(Bytes(4, std::byte{2}))};
  snapshot.pushes = {{PushId{WorkerId(1), Incarnation(1), SequenceNo(2)}, kVersion, Verdict::kApplied}};
  return snapshot;
}

Offer offer() {
  ContributionHeader header;
  header.members = {{PushId{WorkerId(1), Incarnation(1), SequenceNo(2)}, 2, 4, 8, 1, Verdict::kApplied}};
  return {Epoch(1), share(header.encode()), {share(Bytes(6, std::byte{3}))}};
}

PullReply pull_reply(PullOutcome outcome) {
  PullReply reply;
  reply.outcome = outcome;
  if (outcome == PullOutcome::kEntries) reply.entries = {entry()};
  if (outcome == PullOutcome::kSnapshot) reply.snapshot = snapshot();
  if (outcome == PullOutcome::kSnapshot) reply.named = reply.snapshot->pushes.front();
  return reply;
}

std::vector<Message> messages() {
  const PushId id{WorkerId(1), Incarnation(1), SequenceNo(2)};
  const RegionId region(1);
  const Epoch epoch(3);
  const Round round(4);
  return {ManifestOffer{test::small_manifest()},
          Join{2},
          Leave{},
          test::make_push({}, test::filled(1)),
          Skip{ShardId(), round},
          Pull{ShardId(), kVersion, Hash(5), id, 100},
          ManifestReply{test::small_manifest(), Errc::kInternal, ""},
          ManifestReply{{}, Errc::kUnavailable, "no model yet"},
          PushReply{ShardId(), id, PushOutcome::kOverloaded, Errc::kOverloaded, "full", 200},
          pull_reply(PullOutcome::kNotModified),
          pull_reply(PullOutcome::kEntries),
          pull_reply(PullOutcome::kSnapshot),
          Announce{ShardId(), epoch, round, 250},
          Stop{"by an operator"},
          Subscribe{ShardId(), region, Incarnation(2), epoch, kVersion, Hash(5)},
          Lead{ShardId(), epoch},
          offer(),
          EmptyOffer{ShardId(), epoch, region, round},
          Replicated{ShardId(), region, epoch, kVersion, Hash(5)},
          Presence{ShardId(), region, 2, 4, 0.1F},
          Subscribed{ShardId(), epoch, kVersion, Version(7), true},
          Replicate{ShardId(), epoch, Version(7), entry()},
          Watermark{ShardId(), epoch, Version(7)},
          Install{ShardId(), epoch, Version(7), snapshot()},
          OfferReply{ShardId(), epoch, SequenceNo(2), OfferOutcome::kExpect, {}, SequenceNo(1)}};
}

Seed control_seed(const char* name, std::uint8_t first, const wire::WireMessage& message) {
  InputWriter seed;
  seed.number(first).part(message.control).rest(view(message.payloads.front()));
  return {name, seed.take()};
}

}  // namespace

std::vector<Seed> message_seeds() {
  std::vector<Seed> seeds;
  for (const Message& message : messages()) {
    const wire::WireMessage sent = wire::encode(message);
    InputWriter seed;
    seed.number(static_cast<std::uint8_t>(sent.kind)).part(sent.control);
    for (const SharedBytes& payload : sent.payloads) seed.part(*payload);
    seeds.push_back({"message-" + std::to_string(seeds.size()), seed.take()});
  }
  return seeds;
}

std::vector<Seed> transfer_seeds() {
  std::vector<Seed> seeds;
  for (const std::uint32_t chunk_bytes : {4U, 16U, 1000U}) {
    InputWriter seed;
    for (const Message& message : {Message(offer()), Message(Join{2})}) {
      for (const wire::OutFrame& out : wire::split(wire::encode(message), 9, chunk_bytes)) {
        const ByteView payload = view(out.owner).subspan(out.offset, out.bytes);
        seed.number(static_cast<std::uint8_t>(out.kind)).part(out.control).part(payload);
      }
    }
    seeds.push_back({"chunks-of-" + std::to_string(chunk_bytes), seed.take()});
  }
  return seeds;
}

std::vector<Seed> opening_seeds() {
  wire::Hello hello;
  hello.cluster = "demo";
  hello.role = "worker";
  hello.region = "us-west";
  hello.name = "worker-0";
  wire::Welcome welcome;
  welcome.region = "us-west";
  welcome.acknowledgement = "region";
  return {{"hello", InputWriter().number(std::uint8_t{0}).rest(wire::encode(hello)).take()},
          {"welcome", InputWriter().number(std::uint8_t{1}).rest(wire::encode(welcome)).take()}};
}

std::vector<Seed> control_message_seeds() {
  wire::ControlCall swap{1, {}};
  swap.request.kind = ControlKind::kCompareAndSwap;
  swap.request.key = "shard/0/leader";
  swap.request.value = Bytes(5, std::byte{1});
  wire::ControlCall watch{2, {}};
  watch.request.kind = ControlKind::kWatch;
  watch.request.key = "run/";
  watch.request.wait = seconds(10);
  wire::ControlCall lease{3, {}};
  lease.request.kind = ControlKind::kLeaseKeepalive;
  lease.request.key = "region/0/lease";
  lease.request.value = Bytes(3, std::byte{2});
  lease.request.ttl = seconds(4);
  wire::ControlAnswer found{1, {}};
  found.reply.items = {{"run/mode", Bytes(4, std::byte{3}), Revision(8)}};
  wire::ControlAnswer refused{2, {}};
  refused.reply.error = Error{Errc::kConflict, "another was first"};
  return {control_seed("swap", 0, wire::encode(swap)), control_seed("watch", 0, wire::encode(watch)),
          control_seed("lease", 0, wire::encode(lease)),
          control_seed("found", 1, wire::encode(found)),
          control_seed("refused", 1, wire::encode(refused))};
}

}  // namespace godwit::fuzz
