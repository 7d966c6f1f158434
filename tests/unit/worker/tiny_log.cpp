#include "tests/unit/worker/tiny_log.h"

#include <algorithm>

#include "shared/base/checksum.h"
#include "shared/codec/codec.h"
#include "shared/tensor/kernels.h"

namespace godwit::test {
namespace {
constexpr CodecSpec kPlain{CodecId::kFp32, false};
}

Manifest tiny_manifest() { return {8, 1, {{"weight", {8}, false}, {"norm", {4}, true}}}; }

TinyLog::TinyLog() : layout_(Layout(tiny_manifest()).shards[0]), values_(kTinyParameters, 0.0F) {}

Entry TinyLog::append(const std::vector<float>& update, const std::vector<NamedBy>& named) {
  EntryHeader header = head_.header;
  header.kind = version() == Version() ? EntryKind::kInitial : EntryKind::kRound;
  header.round = version() == Version() ? Round() : header.round.next();
  header.contributions.clear();
  header.blocks.clear();
  for (const NamedBy& push : named) {
    Named contribution;
    contribution.sequence = SequenceNo(1);
    contribution.verdict = push.verdict;
    contribution.members.push_back({push.id, 1, 1, 1, 1, Verdict::kApplied});
    header.contributions.push_back(contribution);
  }
  return change(std::move(header), update);
}

Entry TinyLog::append_restore(const std::vector<float>& values, std::uint64_t restore_epoch) {
  EntryHeader header = head_.header;
  header.kind = EntryKind::kRestore;
  header.restore_epoch = RestoreEpoch(restore_epoch);
  header.contributions.clear();
  header.blocks.clear();
  std::fill(values_.begin(), values_.end(), 0.0F);
  return change(std::move(header), values);
}

// P += update, which is also what the payloads hold.
Entry TinyLog::change(EntryHeader header, const std::vector<float>& update) {
  std::vector<SharedBytes> payloads;
  for (const Block& block : layout_.blocks) {
    const auto part = std::span(update).subspan(block.offset, block.count);
    const auto values = std::span(values_).subspan(block.offset, block.count);
    Bytes encoded = encode_block(kPlain, part);
    kernels::add(values, part);
    header.blocks.push_back({kPlain, static_cast<std::uint32_t>(encoded.size()), checksum(encoded),
                             kernels::block_hash(values)});
    payloads.push_back(share(std::move(encoded)));
  }
  return next(std::move(header), std::move(payloads));
}

Entry TinyLog::append_mode(Mode mode, std::uint32_t sync_steps) {
  EntryHeader header = head_.header;
  header.kind = EntryKind::kMode;
  header.mode = mode;
  header.mode_epoch = header.mode_epoch.next();
  header.sync_steps = sync_steps;
  header.contributions.clear();
  header.blocks.clear();
  return next(std::move(header), {});
}

Entry TinyLog::next(EntryHeader header, std::vector<SharedBytes> payloads) {
  header.version = header.version.next();
  header.previous = head_.hash;
  head_ = records::make_entry(std::move(header), std::move(payloads));
  return head_;
}

Snapshot TinyLog::snapshot() const {
  Snapshot snapshot;
  snapshot.entry = head_.encoded;
  for (const Block& block : layout_.blocks) {
    const auto part = std::span(values_).subspan(block.offset, block.count);
    snapshot.blocks.push_back(share(encode_block(kSnapshotCodec, part)));
  }
  return snapshot;
}

}  // namespace godwit::test
