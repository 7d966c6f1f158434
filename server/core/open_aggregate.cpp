#include "server/core/open_aggregate.h"

#include <algorithm>

#include "shared/base/checksum.h"
#include "shared/codec/codec.h"
#include "shared/tensor/kernels.h"

namespace godwit {

void OpenAggregate::add(const PushHeader& push, std::span<const float> values, float clip) {
  begin(push, values.size());
  const bool first = !sums_anything();
  base_version = first ? push.base_version : std::min(base_version, push.base_version);
  base_weight = first ? push.base_weight : std::min(base_weight, push.base_weight);
  restore_epoch = first ? push.restore_epoch : std::min(restore_epoch, push.restore_epoch);
  members.push_back({push.id, push.weight, push.steps, push.tokens, clip, Verdict::kApplied});
  kernels::add_scaled(sum, values, push.weight * clip);
}

void OpenAggregate::begin(const PushHeader& push, std::size_t parameters) {
  if (!members.empty()) return;
  kind = push.kind;
  round = push.round;
  sum.assign(parameters, 0.0F);
}

void OpenAggregate::add_discarded(const PushHeader& push, std::size_t parameters) {
  begin(push, parameters);
  members.push_back({push.id, push.weight, push.steps, push.tokens, 1, Verdict::kDiscarded});
}

void OpenAggregate::discard() {
  for (Member& member : members) member.verdict = Verdict::kDiscarded;
  std::fill(sum.begin(), sum.end(), 0.0F);
}

bool OpenAggregate::sums_anything() const {
  return std::any_of(members.begin(), members.end(),
                     [](const Member& member) { return member.verdict == Verdict::kApplied; });
}

Contribution OpenAggregate::close(const ShardLayout& layout, CodecSpec codec) const {
  Contribution contribution;
  ContributionHeader& header = contribution.header;
  header.kind = kind;
  header.round = round;
  header.base_version = base_version;
  header.base_weight = base_weight;
  header.restore_epoch = restore_epoch;
  header.members = members;
  if (!sums_anything()) return contribution;
  for (const Block& block : layout.blocks) {
    const CodecSpec spec = block.exact || kind == PushKind::kInitial ? exact_codec(codec) : codec;
    Bytes payload = encode_block(spec, std::span(sum).subspan(block.offset - layout.offset, block.count));
    header.blocks.push_back({spec, static_cast<std::uint32_t>(payload.size()), checksum(payload)});
    contribution.payloads.push_back(share(std::move(payload)));
  }
  return contribution;
}

Bytes encode_journal(const std::map<Round, OpenAggregate>& open) {
  ByteWriter out;
  out.put(static_cast<std::uint32_t>(open.size()));
  for (const auto& [round, aggregate] : open) {
    ContributionHeader header;
    header.kind = aggregate.kind;
    header.round = round;
    header.base_version = aggregate.base_version;
    header.base_weight = aggregate.base_weight;
    header.restore_epoch = aggregate.restore_epoch;
    header.members = aggregate.members;
    out.put_bytes(header.encode());
    out.put_bytes(std::as_bytes(std::span(aggregate.sum)));
  }
  return out.take();
}

Result<std::map<Round, OpenAggregate>> decode_journal(ByteView bytes, std::uint64_t parameters) {
  ByteReader in(bytes);
  std::map<Round, OpenAggregate> open;
  for (auto count = in.get_count(8); count > 0; --count) {
    Result<ContributionHeader> header = ContributionHeader::decode(in.get_bytes());
    const ByteView sum = in.get_bytes();
    if (!header || sum.size() != parameters * sizeof(float)) return Error{Errc::kCorrupt, "journal: damaged"};
    OpenAggregate& aggregate = open[header->round];
    aggregate.kind = header->kind;
    aggregate.round = header->round;
    aggregate.base_version = header->base_version;
    aggregate.base_weight = header->base_weight;
    aggregate.restore_epoch = header->restore_epoch;
    aggregate.members = std::move(header->members);
    aggregate.sum.resize(parameters);
    if (!sum.empty()) std::memcpy(aggregate.sum.data(), sum.data(), sum.size());
  }
  if (!in.finished()) return Error{Errc::kCorrupt, "journal: wrong length"};
  return open;
}

}  // namespace godwit
