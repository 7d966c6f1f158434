// Values that a server stores. The first byte says which. A contribution's checksums are mended.
#include "server/core/checkpoint.h"
#include "server/core/open_aggregate.h"
#include "server/core/records.h"
#include "tests/fuzz/input.h"
#include "tests/fuzz/mending.h"
#include "tests/fuzz/targets.h"

namespace godwit::fuzz {
namespace {

// Tables may be read in any order, so it is the second encoding that must be the first.
template <class Decode, class Encode>
bool comes_back(ByteView bytes, Decode decode, Encode encode) {
  const auto value = decode(bytes);
  if (!value) return false;
  const Bytes encoded = encode(*value);
  const auto again = decode(ByteView(encoded));
  GODWIT_CHECK(again.has_value() && encode(*again) == encoded, "a record comes back");
  return true;
}

bool push_record(ByteView bytes) {
  return comes_back(bytes, records::decode_push_record, [](const auto& record) {
    GODWIT_CHECK(record.second >= Verdict::kApplied && record.second <= Verdict::kDiscarded,
                 "a verdict is one of ours");
    return records::encode_push_record(record.first, record.second);
  });
}

bool journal(ByteView bytes) {
  const std::uint64_t parameters = stored_layout().parameters;
  const auto decode = [&](ByteView record) { return decode_journal(record, parameters); };
  return comes_back(bytes, decode, encode_journal);
}

}  // namespace

bool record(ByteView bytes) {
  Input input(bytes);
  const auto kind = input.number<std::uint8_t>() % 12;
  const ByteView value = input.rest();
  switch (kind) {
    case 0:
      return comes_back(mend_contribution(value), records::decode_contribution,
                        records::encode_contribution);
    case 1:
      return comes_back(value, records::decode_producers, records::encode_producers);
    case 2:
      return comes_back(value, records::decode_workers, records::encode_workers);
    case 3:
      return comes_back(value, records::decode_snapshot_block, [](const auto& block) {
        return records::encode_snapshot_block(block.version, block.values, block.velocity);
      });
    case 4:
      return comes_back(value, records::decode_snapshots, records::encode_snapshots);
    case 5:
      return comes_back(value, records::decode_u64, records::encode_u64);
    case 6:
      return comes_back(value, records::decode_push_key,
                        [](const PushId& id) { return records::push_key(ShardId(), id); });
    case 7:
      return push_record(value);
    case 8:
      return comes_back(value, records::decode_pins, records::encode_pins);
    case 9:
      return comes_back(value, CheckpointList::decode, [](const CheckpointList& list) { return list.encode(); });
    case 10:
      return comes_back(value, RestoreSetting::decode, [](const RestoreSetting& setting) { return setting.encode(); });
    default:
      return journal(value);
  }
}

}  // namespace godwit::fuzz
