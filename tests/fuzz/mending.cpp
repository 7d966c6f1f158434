#include "tests/fuzz/mending.h"

#include "shared/base/checksum.h"

namespace godwit::fuzz {
namespace {

// A commit record of a shard and version ends in 1, a payload in 0 and its block.
constexpr std::size_t kCommitKeyBytes = 13;

Bytes payload_key(Bytes commit_key, std::uint32_t block) {
  commit_key.back() = std::byte{0};
  for (int shift = 24; shift >= 0; shift -= 8)
    commit_key.push_back(static_cast<std::byte>(block >> shift));
  return commit_key;
}

void mend_log(Records& records) {
  Hash previous;
  for (auto& [place, value] : records) {
    const auto& [family, key] = place;
    if (family != Family::kLog || key.size() != kCommitKeyBytes) continue;
    Result<EntryHeader> header = EntryHeader::decode(value);
    if (!header) continue;
    header->previous = previous;
    for (std::uint32_t block = 0; block < header->blocks.size(); ++block) {
      const auto payload = records.find({Family::kLog, payload_key(key, block)});
      if (payload == records.end()) continue;
      header->blocks[block].bytes = static_cast<std::uint32_t>(payload->second.size());
      header->blocks[block].checksum = checksum(payload->second);
    }
    value = header->encode();
    previous = entry_hash(value);
  }
}

}  // namespace

Bytes mend_contribution(ByteView record) {
  ByteReader in(record);
  Result<ContributionHeader> header = ContributionHeader::decode(in.get_bytes());
  if (!header) return copy(record);
  Contribution contribution{std::move(*header), {}};
  for (auto& part : contribution.header.blocks) {
    Bytes payload = copy(in.get_bytes());
    part.bytes = static_cast<std::uint32_t>(payload.size());
    part.checksum = checksum(payload);
    contribution.payloads.push_back(share(std::move(payload)));
  }
  return records::encode_contribution(contribution);
}

void mend(Records& records) {
  const Bytes journal = records::journal_key(ShardId());
  for (auto& [place, value] : records) {
    const bool outbox = place.first == Family::kOutbox && place.second != journal;
    if (outbox || place.first == Family::kInputs) value = mend_contribution(value);
  }
  mend_log(records);
}

}  // namespace godwit::fuzz
