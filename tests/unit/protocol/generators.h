// Random protocol values that decode() accepts, and hostile variants of their encodings.
#pragma once

#include <rapidcheck.h>

#include <string>
#include <vector>

#include "shared/protocol/entry.h"
#include "shared/protocol/manifest.h"
#include "shared/protocol/push.h"

namespace godwit::generate {

template <class Id>
Id id() {
  return Id(*rc::gen::arbitrary<typename Id::rep>());
}

template <class E>
E member_of(E first, E last) {
  return static_cast<E>(*rc::gen::inRange(static_cast<int>(first), static_cast<int>(last) + 1));
}

inline double amount() { return *rc::gen::inRange<int>(0, 1 << 30) / 1024.0; }
inline std::size_t size(std::size_t below) { return *rc::gen::inRange<std::size_t>(0, below); }

inline CodecSpec codec() {
  return {member_of(CodecId::kFp32, CodecId::kInt8), *rc::gen::arbitrary<bool>()};
}

inline PushId push_id() { return {id<WorkerId>(), id<Incarnation>(), id<SequenceNo>()}; }

inline PushHeader push() {
  PushHeader push;
  push.id = push_id();
  push.shard = id<ShardId>();
  push.kind = member_of(PushKind::kInitial, PushKind::kPseudoGradient);
  push.round = id<Round>();
  push.base_version = id<Version>();
  push.base_weight = amount();
  push.restore_epoch = id<RestoreEpoch>();
  push.steps = *rc::gen::arbitrary<std::uint32_t>();
  push.tokens = *rc::gen::arbitrary<std::uint64_t>();
  push.weight = static_cast<float>(amount());
  push.step_seconds = static_cast<float>(amount());
  push.manifest = id<Hash>();
  push.codec = codec();
  return push;
}

inline Member member() {
  return {push_id(),
          static_cast<float>(amount()),
          *rc::gen::arbitrary<std::uint32_t>(),
          *rc::gen::inRange<std::uint64_t>(0, 1ULL << 40),
          static_cast<float>(amount()),
          member_of(Verdict::kApplied, Verdict::kDiscarded)};
}

template <class Make>
auto some(std::size_t below, Make make) {
  std::vector<decltype(make())> out;
  const std::size_t count = size(below);
  for (std::size_t i = 0; i < count; ++i) out.push_back(make());
  return out;
}

inline ContributionHeader contribution() {
  ContributionHeader contribution;
  contribution.region = id<RegionId>();
  contribution.incarnation = id<Incarnation>();
  contribution.sequence = id<SequenceNo>();
  contribution.shard = id<ShardId>();
  contribution.kind = member_of(PushKind::kInitial, PushKind::kPseudoGradient);
  contribution.round = id<Round>();
  contribution.regime = member_of(Regime::kFresh, Regime::kMemoryless);
  contribution.beta = static_cast<float>(amount());
  contribution.base_version = id<Version>();
  contribution.base_weight = amount();
  contribution.restore_epoch = id<RestoreEpoch>();
  contribution.members = some(5, member);
  contribution.blocks = some(5, [] {
    return ContributionHeader::BlockPart{codec(), *rc::gen::arbitrary<std::uint32_t>(), id<Hash>()};
  });
  return contribution;
}

inline Named named() {
  Named named;
  named.region = id<RegionId>();
  named.incarnation = id<Incarnation>();
  named.sequence = id<SequenceNo>();
  named.round = id<Round>();
  named.verdict = member_of(Verdict::kApplied, Verdict::kDiscarded);
  named.staleness_rounds = amount();
  named.factor = static_cast<float>(amount());
  named.members = some(4, member);
  return named;
}

inline EntryHeader entry() {
  EntryHeader entry;
  entry.shard = id<ShardId>();
  entry.version = id<Version>();
  entry.epoch = id<Epoch>();
  entry.previous = id<Hash>();
  entry.kind = member_of(EntryKind::kInitial, EntryKind::kRestore);
  entry.round = id<Round>();
  entry.mode = member_of(Mode::kAsync, Mode::kSync);
  entry.mode_epoch = id<ModeEpoch>();
  entry.sync_steps = *rc::gen::arbitrary<std::uint32_t>();
  entry.restore_epoch = id<RestoreEpoch>();
  entry.regime = member_of(Regime::kFresh, Regime::kMemoryless);
  entry.outer = member_of(Outer::kNone, Outer::kNesterov);
  entry.learning_rate = static_cast<float>(amount());
  entry.momentum = static_cast<float>(amount());
  entry.zero_velocity = *rc::gen::arbitrary<bool>();
  entry.inverse_weight = static_cast<float>(amount());
  entry.round_weight = amount();
  entry.median_steps = *rc::gen::arbitrary<std::uint32_t>();
  entry.live = some(4, [] { return LiveRegion{id<RegionId>(), amount()}; });
  entry.contributions = some(4, named);
  entry.total_weight = amount();
  entry.total_tokens = *rc::gen::arbitrary<std::uint64_t>();
  entry.blocks = some(5, [] {
    return BlockUpdate{codec(), *rc::gen::arbitrary<std::uint32_t>(), id<Hash>(), id<Hash>()};
  });
  return entry;
}

// Valid: small tensors, blocks of 1 to 9 parameters, at most as many shards as blocks.
inline Manifest manifest() {
  Manifest manifest;
  manifest.block_parameters = *rc::gen::inRange<std::uint32_t>(1, 10);
  const std::size_t tensors = 1 + size(6);
  for (std::size_t i = 0; i < tensors; ++i) {
    ManifestTensor& tensor = manifest.tensors.emplace_back();
    tensor.name = "tensor." + std::to_string(i);
    tensor.exact = *rc::gen::arbitrary<bool>();
    tensor.shape = some(4, [] { return *rc::gen::inRange<std::int64_t>(1, 6); });
  }
  const auto shards = *rc::gen::inRange<std::uint32_t>(1, 9);
  manifest.shards = 1;
  std::uint32_t blocks = 0;
  for (const ShardLayout& shard : Layout(manifest).shards)
    blocks += static_cast<std::uint32_t>(shard.blocks.size());
  manifest.shards = std::min(shards, blocks);
  return manifest;
}

// A truncation, some flipped bits, some overwritten bytes, or an extension of `bytes`.
inline Bytes damaged(Bytes bytes) {
  switch (size(4)) {
    case 0:
      bytes.resize(size(bytes.size() + 1));
      break;
    case 1:
      bytes.resize(bytes.size() + 1 + size(8));
      break;
    case 2:
      for (std::size_t flips = 1 + size(4); flips > 0 && !bytes.empty(); --flips) {
        bytes[size(bytes.size())] ^= static_cast<std::byte>(1U << size(8));
      }
      break;
    default:
      for (std::size_t writes = 1 + size(8); writes > 0 && !bytes.empty(); --writes) {
        bytes[size(bytes.size())] =
            static_cast<std::byte>(*rc::gen::element(0, 1, 0x7F, 0x80, 0xFF));
      }
  }
  return bytes;
}

// What decode() accepts is valid: it encodes to the very bytes that were read.
template <class Record>
void check_hostile(const Bytes& bytes) {
  const Result<Record> decoded = Record::decode(bytes);
  if (decoded) {
    RC_ASSERT(decoded->encode() == bytes);
  } else {
    RC_ASSERT(!decoded.error().context.empty());
  }
}

template <class Record>
void check_every_truncation(const Record& record) {
  const Bytes bytes = record.encode();
  for (std::size_t length = 0; length < bytes.size(); ++length) {
    RC_ASSERT(!Record::decode(ByteView(bytes).first(length)).has_value());
  }
}

}  // namespace godwit::generate
