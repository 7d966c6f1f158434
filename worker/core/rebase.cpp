#include "worker/core/rebase.h"

#include "shared/base/checksum.h"
#include "shared/codec/codec.h"
#include "shared/tensor/kernels.h"

namespace godwit {

std::vector<float> ShardView::progress(const Parameters& theta) const {
  std::vector<float> q(anchor_.size());
  theta.for_range(layout_.offset, layout_.parameters,
                  [&](std::uint64_t at, std::span<float> values) {
                    kernels::subtract(std::span(q).subspan(at, values.size()),
                                      std::span(anchor_).subspan(at, values.size()), values);
                  });
  return q;
}

void ShardView::rebase(std::span<const float> next, const EntryHeader& head, Merged& merged,
                       const Parameters& theta) {
  // A first anchor replaces whatever the caller started from; nobody trains before it.
  const bool first = head_.version == Version();
  const bool spent = merged.named.has_value();
  merged.changed = true;
  merged.restored = !first && head.restore_epoch > head_.restore_epoch;
  const bool assign = first || merged.restored || (spent && pending_->steps_since == 0);
  theta.for_range(
      layout_.offset, layout_.parameters, [&](std::uint64_t at, std::span<float> values) {
        const std::span<const float> target = next.subspan(at, values.size());
        if (assign) {
          std::copy(target.begin(), target.end(), values.begin());
          return;
        }
        // theta += A' - A + q, summed as A' + (theta - A + q): exact where nothing was trained.
        const std::span<const float> anchor = std::span(anchor_).subspan(at, values.size());
        kernels::subtract(values, values, anchor);
        if (spent) kernels::add(values, std::span(pending_->q).subspan(at, values.size()));
        kernels::add(values, target);
      });
  std::copy(next.begin(), next.end(), anchor_.begin());
  if (spent) pending_.reset();
  if (pending_ && merged.restored) std::fill(pending_->q.begin(), pending_->q.end(), 0.0F);
}

Result<ShardView::Merged> ShardView::merge(const std::vector<Entry>& entries,
                                           const Parameters& theta) {
  Merged merged;
  if (entries.empty()) return merged;
  std::vector<float> next = anchor_;
  std::vector<float> update;
  Version version = head_.version;
  Hash previous = head_hash_;
  for (const Entry& entry : entries) {
    const EntryHeader& header = entry.header;
    if (header.version != version.next() || header.previous != previous) {
      return Error{Errc::kForked, "version " + to_string(header.version) + " does not extend " +
                                      to_string(version)};
    }
    if (header.blocks.size() != entry.payloads.size() ||
        (!header.blocks.empty() && header.blocks.size() != layout_.blocks.size())) {
      return Error{Errc::kMalformed,
                   "version " + to_string(header.version) + ": wrong number of blocks"};
    }
    for (std::size_t block = 0; block < header.blocks.size(); ++block) {
      const Block& place = layout_.blocks[block];
      const std::span<float> values =
          std::span(next).subspan(place.offset - layout_.offset, place.count);
      update.resize(place.count);
      if (Result<void> decoded =
              decode_block(header.blocks[block].codec, view(entry.payloads[block]), update);
          !decoded) {
        return decoded.error();
      }
      if (header.kind == EntryKind::kRestore) {
        std::copy(update.begin(), update.end(), values.begin());
      } else {
        kernels::add(values, update);
      }
      if (kernels::block_hash(values) != header.blocks[block].state) {
        return Error{Errc::kCorrupt, "version " + to_string(header.version) + " block " +
                                         std::to_string(block) +
                                         ": the bytes differ from the entry's hash"};
      }
    }
    for (const Named& named : header.contributions) {
      for (const Member& member : named.members) {
        if (!pending_ || merged.named || member.id != pending_->push.header.id) continue;
        const Verdict verdict = named.verdict == Verdict::kApplied ? member.verdict : named.verdict;
        merged.named = NamedPush{member.id, header.version, verdict};
        merged.staleness_rounds = named.staleness_rounds;
      }
    }
    version = header.version;
    previous = entry.hash;
  }
  rebase(next, entries.back().header, merged, theta);
  head_ = entries.back().header;
  head_hash_ = previous;
  return merged;
}

Result<ShardView::Merged> ShardView::replace(const Snapshot& snapshot,
                                             const std::optional<NamedPush>& named,
                                             const Parameters& theta) {
  Result<EntryHeader> header = EntryHeader::decode(view(snapshot.entry));
  if (!header) return header.error();
  if (snapshot.blocks.size() != layout_.blocks.size())
    return Error{Errc::kMalformed, "snapshot: wrong number of blocks"};
  std::vector<float> next(anchor_.size());
  for (std::size_t block = 0; block < snapshot.blocks.size(); ++block) {
    const Block& place = layout_.blocks[block];
    const std::span<float> values =
        std::span(next).subspan(place.offset - layout_.offset, place.count);
    if (Result<void> decoded = decode_block(kSnapshotCodec, view(snapshot.blocks[block]), values);
        !decoded) {
      return decoded.error();
    }
    if (!header->blocks.empty() && kernels::block_hash(values) != header->blocks[block].state) {
      return Error{Errc::kCorrupt,
                   "snapshot block " + std::to_string(block) + ": the bytes differ from the hash"};
    }
  }
  Merged merged;
  if (named && pending_ && named->id == pending_->push.header.id) merged.named = named;
  rebase(next, *header, merged, theta);
  head_hash_ = entry_hash(view(snapshot.entry));
  head_ = std::move(*header);
  return merged;
}

}  // namespace godwit
