#include "shared/protocol/entry.h"

#include "shared/base/checksum.h"
#include "shared/protocol/field_reader.h"

namespace godwit {
namespace {

constexpr std::uint8_t kEntryFormat = 3;  // 1 had no leader, 2 no restores
constexpr std::size_t kLiveBytes = 12;
constexpr std::size_t kMemberBytes = 45;
constexpr std::size_t kNamedBytes = 45;  // without members
constexpr std::size_t kBlockBytes = 21;

void put(ByteWriter& out, const Named& named) {
  GODWIT_CHECK(is_amount(named.staleness_rounds) && is_amount(named.factor),
               "an entry records finite scalars");
  out.put(named.region);
  out.put(named.incarnation);
  out.put(named.sequence);
  out.put(named.round);
  out.put(named.verdict);
  out.put(named.staleness_rounds);
  out.put(named.factor);
  out.put(static_cast<std::uint32_t>(named.members.size()));
  for (const Member& member : named.members) godwit::put(out, member);
}

void get(FieldReader& in, Named& named) {
  in.get(named.region);
  in.get(named.incarnation);
  in.get(named.sequence);
  in.get(named.round);
  in.get_enum("verdict", named.verdict, Verdict::kApplied, Verdict::kDiscarded);
  in.get_amount("staleness", named.staleness_rounds);
  in.get_amount("factor", named.factor);
  const std::uint32_t members = in.get_count(kMemberBytes);
  for (std::uint32_t i = 0; i < members && in.ok(); ++i) {
    if (!godwit::get(in.in(), named.members.emplace_back())) {
      in.reject(Errc::kMalformed, "member " + std::to_string(i) + " is invalid");
    }
  }
}

void put(ByteWriter& out, const BlockUpdate& block) {
  out.put(block.codec.wire());
  out.put(block.bytes);
  out.put(block.checksum);
  out.put(block.state);
}

void get(FieldReader& in, BlockUpdate& block) {
  in.get_codec(block.codec);
  in.get(block.bytes);
  in.get(block.checksum);
  in.get(block.state);
}

// What identifies the entry and its place in the log.
void put_place(ByteWriter& out, const EntryHeader& entry) {
  out.put(entry.shard);
  out.put(entry.version);
  out.put(entry.epoch);
  out.put(entry.leader);
  out.put(entry.previous);
  out.put(entry.kind);
  out.put(entry.round);
  out.put(entry.mode);
  out.put(entry.mode_epoch);
  out.put(entry.sync_steps);
  out.put(entry.restore_epoch);
  out.put(entry.regime);
}

void get_place(FieldReader& in, EntryHeader& entry) {
  in.get(entry.shard);
  in.get(entry.version);
  in.get(entry.epoch);
  in.get(entry.leader);
  in.get(entry.previous);
  in.get_enum("kind", entry.kind, EntryKind::kInitial, EntryKind::kRestore);
  in.get(entry.round);
  in.get_enum("mode", entry.mode, Mode::kAsync, Mode::kSync);
  in.get(entry.mode_epoch);
  in.get(entry.sync_steps);
  in.get(entry.restore_epoch);
  in.get_enum("regime", entry.regime, Regime::kFresh, Regime::kMemoryless);
}

void put_arithmetic(ByteWriter& out, const EntryHeader& entry) {
  for (const double scalar :
       {double{entry.learning_rate}, double{entry.momentum}, double{entry.inverse_weight},
        entry.round_weight, entry.total_weight}) {
    GODWIT_CHECK(is_amount(scalar), "an entry records finite scalars");
  }
  out.put(entry.outer);
  out.put(entry.learning_rate);
  out.put(entry.momentum);
  out.put(static_cast<std::uint8_t>(entry.zero_velocity ? 1 : 0));
  out.put(entry.inverse_weight);
  out.put(entry.round_weight);
  out.put(entry.median_steps);
  out.put(entry.total_weight);
  out.put(entry.total_tokens);
}

void get_arithmetic(FieldReader& in, EntryHeader& entry) {
  in.get_enum("outer optimizer", entry.outer, Outer::kNone, Outer::kNesterov);
  in.get_amount("learning rate", entry.learning_rate);
  in.get_amount("momentum", entry.momentum);
  in.get_flag("zero velocity", entry.zero_velocity);
  in.get_amount("inverse weight", entry.inverse_weight);
  in.get_amount("round weight", entry.round_weight);
  in.get(entry.median_steps);
  in.get_amount("total weight", entry.total_weight);
  in.get(entry.total_tokens);
}

}  // namespace

Bytes EntryHeader::encode() const {
  ByteWriter out;
  out.put(kEntryFormat);
  put_place(out, *this);
  put_arithmetic(out, *this);
  out.put(static_cast<std::uint32_t>(live.size()));
  for (const LiveRegion& region : live) {
    GODWIT_CHECK(is_amount(region.weight), "an entry records finite scalars");
    out.put(region.region);
    out.put(region.weight);
  }
  out.put(static_cast<std::uint32_t>(contributions.size()));
  for (const Named& named : contributions) put(out, named);
  out.put(static_cast<std::uint32_t>(blocks.size()));
  for (const BlockUpdate& block : blocks) put(out, block);
  return out.take();
}

Result<EntryHeader> EntryHeader::decode(ByteView bytes) {
  FieldReader in("entry header", kEntryFormat, bytes);
  EntryHeader entry;
  get_place(in, entry);
  get_arithmetic(in, entry);
  const std::uint32_t live = in.get_count(kLiveBytes);
  for (std::uint32_t i = 0; i < live && in.ok(); ++i) {
    LiveRegion& region = entry.live.emplace_back();
    in.get(region.region);
    in.get_amount("live weight", region.weight);
  }
  const std::uint32_t contributions = in.get_count(kNamedBytes);
  for (std::uint32_t i = 0; i < contributions && in.ok(); ++i)
    get(in, entry.contributions.emplace_back());
  const std::uint32_t blocks = in.get_count(kBlockBytes);
  for (std::uint32_t i = 0; i < blocks && in.ok(); ++i) get(in, entry.blocks.emplace_back());
  if (const auto read = in.finish(); !read) return read.error();
  return entry;
}

Hash entry_hash(ByteView encoded_header) { return checksum(encoded_header); }

}  // namespace godwit
