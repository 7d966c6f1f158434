#include "shared/protocol/push.h"

#include "shared/protocol/field_reader.h"

namespace godwit {
namespace {

// 1 had no restore epoch.
constexpr std::uint8_t kPushFormat = 2;
constexpr std::uint8_t kContributionFormat = 2;
constexpr std::size_t kMemberBytes = 45;
constexpr std::size_t kBlockPartBytes = 13;

}  // namespace

void put(ByteWriter& out, const PushId& id) {
  out.put(id.worker);
  out.put(id.incarnation);
  out.put(id.sequence);
}

void get(ByteReader& in, PushId& id) {
  in.get(id.worker);
  in.get(id.incarnation);
  in.get(id.sequence);
}

void put(ByteWriter& out, const Member& member) {
  GODWIT_CHECK(is_amount(member.weight) && is_amount(member.clip),
               "a contribution records finite scalars");
  put(out, member.id);
  out.put(member.weight);
  out.put(member.steps);
  out.put(member.tokens);
  out.put(member.clip);
  out.put(member.verdict);
}

bool get(ByteReader& in, Member& member) {
  get(in, member.id);
  in.get(member.weight);
  in.get(member.steps);
  in.get(member.tokens);
  in.get(member.clip);
  in.get(member.verdict);
  return !in.failed() && is_amount(member.weight) && is_amount(member.clip) &&
         member.verdict >= Verdict::kApplied && member.verdict <= Verdict::kDiscarded;
}

Bytes PushHeader::encode() const {
  ByteWriter out;
  out.put(kPushFormat);
  put(out, id);
  out.put(shard);
  out.put(kind);
  out.put(round);
  out.put(base_version);
  out.put(base_weight);
  out.put(restore_epoch);
  out.put(steps);
  out.put(tokens);
  out.put(weight);
  out.put(step_seconds);
  out.put(manifest);
  out.put(codec.wire());
  return out.take();
}

Result<PushHeader> PushHeader::decode(ByteView bytes) {
  FieldReader in("push header", kPushFormat, bytes);
  PushHeader push;
  godwit::get(in.in(), push.id);
  in.get(push.shard);
  in.get_enum("kind", push.kind, PushKind::kInitial, PushKind::kPseudoGradient);
  in.get(push.round);
  in.get(push.base_version);
  in.get_amount("base weight", push.base_weight);
  in.get(push.restore_epoch);
  in.get(push.steps);
  in.get(push.tokens);
  in.get_amount("weight", push.weight);
  in.get_amount("step seconds", push.step_seconds);
  in.get(push.manifest);
  in.get_codec(push.codec);
  if (const auto read = in.finish(); !read) return read.error();
  return push;
}

double ContributionHeader::weight() const {
  double sum = 0;
  for (const Member& member : members) {
    if (member.verdict == Verdict::kApplied) sum += member.weight;
  }
  return sum;
}

std::uint64_t ContributionHeader::tokens() const {
  std::uint64_t sum = 0;
  for (const Member& member : members) {
    if (member.verdict == Verdict::kApplied) sum += member.tokens;
  }
  return sum;
}

Bytes ContributionHeader::encode() const {
  GODWIT_CHECK(is_amount(beta) && is_amount(base_weight), "a contribution records finite scalars");
  ByteWriter out;
  out.put(kContributionFormat);
  out.put(region);
  out.put(incarnation);
  out.put(sequence);
  out.put(shard);
  out.put(kind);
  out.put(round);
  out.put(regime);
  out.put(beta);
  out.put(base_version);
  out.put(base_weight);
  out.put(restore_epoch);
  out.put(static_cast<std::uint32_t>(members.size()));
  for (const Member& member : members) put(out, member);
  out.put(static_cast<std::uint32_t>(blocks.size()));
  for (const BlockPart& block : blocks) {
    out.put(block.codec.wire());
    out.put(block.bytes);
    out.put(block.checksum);
  }
  return out.take();
}

Result<ContributionHeader> ContributionHeader::decode(ByteView bytes) {
  FieldReader in("contribution header", kContributionFormat, bytes);
  ContributionHeader contribution;
  in.get(contribution.region);
  in.get(contribution.incarnation);
  in.get(contribution.sequence);
  in.get(contribution.shard);
  in.get_enum("kind", contribution.kind, PushKind::kInitial, PushKind::kPseudoGradient);
  in.get(contribution.round);
  in.get_enum("regime", contribution.regime, Regime::kFresh, Regime::kMemoryless);
  in.get_amount("beta", contribution.beta);
  in.get(contribution.base_version);
  in.get_amount("base weight", contribution.base_weight);
  in.get(contribution.restore_epoch);
  const std::uint32_t members = in.get_count(kMemberBytes);
  for (std::uint32_t i = 0; i < members && in.ok(); ++i) {
    if (!godwit::get(in.in(), contribution.members.emplace_back())) {
      in.reject(Errc::kMalformed, "member " + std::to_string(i) + " is invalid");
    }
  }
  const std::uint32_t blocks = in.get_count(kBlockPartBytes);
  for (std::uint32_t i = 0; i < blocks && in.ok(); ++i) {
    BlockPart& block = contribution.blocks.emplace_back();
    in.get_codec(block.codec);
    in.get(block.bytes);
    in.get(block.checksum);
  }
  if (const auto read = in.finish(); !read) return read.error();
  return contribution;
}

}  // namespace godwit
