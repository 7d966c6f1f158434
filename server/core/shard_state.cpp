#include "server/core/shard_state.h"

#include <algorithm>

#include "shared/base/check.h"
#include "shared/codec/codec.h"
#include "shared/tensor/kernels.h"

namespace godwit {

ShardState::ShardState(ShardId shard, ShardLayout layout, bool leader)
    : shard_(shard),
      layout_(std::move(layout)),
      values_(layout_.parameters, 0.0F),
      velocity_(leader ? layout_.parameters : 0, 0.0F) {
  head_.shard = shard;
  for (std::uint32_t block = 0; block < block_count(); ++block) block_hashes_.push_back(rehash(block));
}

void ShardState::keep_velocity(bool keep) { velocity_.assign(keep ? layout_.parameters : 0, 0.0F); }

void ShardState::zero_velocity(std::uint32_t block) {
  if (velocity_.empty()) return;
  const std::span<float> zeroed = slice(velocity_, block);
  std::fill(zeroed.begin(), zeroed.end(), 0.0F);
}

std::span<const float> ShardState::velocity(std::uint32_t block) const {
  return velocity_.empty() ? std::span<const float>() : slice(velocity_, block);
}

Hash ShardState::rehash(std::uint32_t block) const { return kernels::block_hash(slice(values_, block)); }

void ShardState::set_values(std::uint32_t block, std::span<const float> next) {
  const std::span<float> current = slice(values_, block);
  const std::uint64_t change = kernels::block_hash_change(current, next);
  block_hashes_[block] = Hash(block_hashes_[block].value() + change);
  std::copy(next.begin(), next.end(), current.begin());
}

Result<Bytes> ShardState::step_block(const EntryHeader& scalars, std::span<const Contribution> contributions,
                                     std::uint32_t block, CodecSpec codec) {
  const std::span<const float> current = slice(values_, block);
  std::vector<float> sum(current.size()), next(current.size());
  if (const Result<void> summed = sum_contributions(contributions, block, sum); !summed) return summed.error();
  std::span<float> velocity = velocity_.empty() ? std::span<float>() : slice(velocity_, block);
  if (scalars.zero_velocity) std::fill(velocity.begin(), velocity.end(), 0.0F);
  if (scalars.outer == Outer::kNesterov) {
    kernels::nesterov_step(next, velocity, current, sum, scalars.inverse_weight, scalars.learning_rate,
                           scalars.momentum);
  } else {
    kernels::sgd_step(next, current, sum, scalars.inverse_weight, scalars.learning_rate);
  }
  kernels::subtract(next, next, current);
  Bytes update = encode_block(codec, next);
  if (const Result<void> applied = apply_block(scalars.kind, block, codec, update); !applied) {
    return applied.error();
  }
  return update;
}

Result<void> ShardState::apply_block(EntryKind kind, std::uint32_t block, CodecSpec codec, ByteView update) {
  const std::span<const float> current = slice(values_, block);
  std::vector<float> next(current.size());
  if (Result<void> decoded = decode_block(codec, update, next); !decoded) return decoded;
  if (kind != EntryKind::kRestore) kernels::add(next, current);  // U + P: addition commutes exactly
  set_values(block, next);
  return {};
}

Result<void> ShardState::advance(const Entry& entry) {
  const EntryHeader& header = entry.header;
  GODWIT_REQUIRE(header.version == head_.version.next(), "versions are dense");
  for (std::uint32_t block = 0; block < header.blocks.size(); ++block) {
    if (header.blocks[block].state != block_hashes_[block]) {
      return Error{Errc::kCorrupt, "shard " + to_string(shard_) + " version " + to_string(header.version) + " block " +
                                       std::to_string(block) + ": the replayed bytes differ from the entry's hash"};
    }
  }
  for (const Named& named : header.contributions) {
    producers_[{named.region, named.incarnation}] = {named.sequence, header.version};
  }
  if (resets_moments(header.kind)) {
    for (std::uint32_t block = 0; block < block_count(); ++block) zero_velocity(block);
  }
  head_ = header;
  head_encoded_ = entry.encoded;
  head_hash_ = entry.hash;
  return {};
}

void ShardState::load_block(std::uint32_t block, std::span<const float> values, std::span<const float> velocity) {
  set_values(block, values);
  if (!velocity_.empty() && !velocity.empty()) {
    const std::span<float> target = slice(velocity_, block);
    std::copy(velocity.begin(), velocity.end(), target.begin());
  }
}

void ShardState::load_head(EntryHeader head, SharedBytes encoded, records::Producers producers) {
  head_ = std::move(head);
  head_encoded_ = std::move(encoded);
  head_hash_ = head_.version == Version() ? Hash() : entry_hash(view(head_encoded_));
  producers_ = std::move(producers);
}

Result<void> sum_contributions(std::span<const Contribution> contributions, std::uint32_t block,
                               std::span<float> sum) {
  std::fill(sum.begin(), sum.end(), 0.0F);
  std::vector<float> decoded(sum.size());
  for (const Contribution& contribution : contributions) {
    if (contribution.payloads.empty()) continue;  // every member was refused
    if (block >= contribution.payloads.size()) return Error{Errc::kMalformed, "a contribution without this block"};
    const auto& part = contribution.header.blocks[block];
    Result<void> result = decode_block(part.codec, view(contribution.payloads[block]), decoded);
    if (result && !kernels::all_finite(decoded)) result = Error{Errc::kInvalid, "not finite"};
    if (!result) {
      return Error{result.error().code, "contribution " + to_string(contribution.header.sequence) + " of region " +
                                            to_string(contribution.header.region) + ": " + result.error().context};
    }
    kernels::add(sum, decoded);
  }
  return {};
}

}  // namespace godwit
