// Recovery of a log and an outbox: those of the real core after some damage, or one that was made
// up. It succeeds or gives an error. The first byte: what to start from, and whether checksums are
// mended after the damage.
#include "server/core/recovery.h"

#include "server/core/aggregator.h"
#include "tests/fuzz/input.h"
#include "tests/fuzz/mending.h"
#include "tests/fuzz/targets.h"

namespace godwit::fuzz {
namespace {

constexpr int kDamagesMax = 24;
constexpr std::uint8_t kMended = 0x80;
constexpr ShardId kShard;

// A key that recovery looks at.
std::pair<Family, Bytes> any_place(Input& input) {
  const auto kind = input.number<std::uint8_t>() % 10;
  const auto number = input.number<std::uint8_t>();
  const auto index = static_cast<std::uint32_t>(input.number<std::uint8_t>() % 4);
  switch (kind) {
    case 0:
      return {Family::kLog, records::commit_key(kShard, Version(number))};
    case 1:
      return {Family::kLog, records::payload_key(kShard, Version(number), index)};
    case 2:
      return {Family::kInputs, records::input_key(kShard, Version(number), index)};
    case 3:
      return {Family::kOutbox, records::outbox_key(kShard, SequenceNo(number))};
    case 4:
      return {Family::kOutbox, records::journal_key(kShard)};
    case 5:
      return {Family::kSnapshot, records::snapshot_key(kShard, number, index)};
    default:
      return {Family::kMeta, records::meta_key("psew"[kind - 6], kShard)};
  }
}

Records::iterator any_record(Records& records, Input& input) {
  return std::next(records.begin(),
                   static_cast<std::ptrdiff_t>(input.number<std::uint8_t>() % records.size()));
}

// A place inside `value`, or its end.
Bytes::iterator any_byte(Bytes& value, Input& input) {
  const auto offset = input.number<std::uint16_t>() % (value.size() + 1);
  return value.begin() + static_cast<std::ptrdiff_t>(offset);
}

void damage(Records& records, Input& input) {
  const auto how = input.number<std::uint8_t>() % 8;
  if (records.empty() || how == 0) {
    const auto place = any_place(input);
    records[place] = copy(input.part());
    return;
  }
  const auto record = any_record(records, input);
  Bytes& value = record->second;
  switch (how) {
    case 1: {
      const auto at = any_byte(value, input);
      if (at != value.end()) *at ^= static_cast<std::byte>(input.number<std::uint8_t>());
      return;
    }
    case 2:
      value = copy(input.part());
      return;
    case 3:
      records.erase(record);
      return;
    case 4:
      value = Bytes(any_record(records, input)->second);
      return;
    case 5:
      value.erase(any_byte(value, input), value.end());
      return;
    case 6: {
      const auto at = any_byte(value, input);
      const ByteView inserted = input.part();
      value.insert(at, inserted.begin(), inserted.end());
      return;
    }
    default: {
      const auto place = any_place(input);
      records[place] = Bytes(value);
      return;
    }
  }
}

bool recovers(const MemoryStore& store, bool leader) {
  const Result<Recovered> recovered = recover_shard(store, kShard, stored_layout(),
                                                    leader ? std::optional(RegionId(0)) : std::nullopt);
  if (!recovered) {
    const Errc code = recovered.error().code;  // kInternal: checksums were mended, and the arithmetic told it
    GODWIT_CHECK(code == Errc::kCorrupt || code == Errc::kInternal, "damage is called by its name");
    return false;
  }
  const ShardState& state = recovered->state;
  for (std::uint32_t block = 0; block < state.block_count(); ++block)
    GODWIT_CHECK(state.block_state(block) == state.rehash(block), "hashes follow the values");
  return true;
}

bool loads(const MemoryStore& store) {
  const auto stored = Aggregator::load(store, kShard, stored_layout());
  if (!stored) return false;
  for (const auto& [round, aggregate] : stored->open)
    GODWIT_CHECK(aggregate.sum.size() == stored_layout().parameters, "a sum of the whole shard");
  return true;
}

}  // namespace

bool recovery(ByteView bytes) {
  Input input(bytes);
  const auto start = input.number<std::uint8_t>();
  const auto region = static_cast<std::uint32_t>(start % 4);
  Records records = region < 2 ? stored_records(region) : Records();
  for (int i = 0; i < kDamagesMax && !input.empty(); ++i) damage(records, input);
  if ((start & kMended) != 0) mend(records);

  MemoryStore store;
  fill(store, records);
  const bool leader = recovers(store, true);
  const bool follower = recovers(store, false);
  return loads(store) && (leader || follower);
}

}  // namespace godwit::fuzz
