// Seeds of what lies in a store.
#include "server/core/checkpoint.h"
#include "server/core/open_aggregate.h"
#include "tests/fuzz/input.h"
#include "tests/fuzz/seeds.h"
#include "tests/fuzz/stored_log.h"
#include "tests/unit/core/bench.h"

namespace godwit::fuzz {
namespace {

Seed seed(std::string name, std::uint8_t first, ByteView rest) {
  return {std::move(name), InputWriter().number(first).rest(rest).take()};
}

// The first stored record of a family, at or after a key.
const Bytes& stored(std::uint32_t region, Family family, const Bytes& key = {}) {
  const auto found = stored_records(region).lower_bound({family, key});
  GODWIT_CHECK(found != stored_records(region).end() && found->first.first == family,
               "the run left such a record");
  return found->second;
}

const Bytes& stored_meta(char tag) {
  return stored(1, Family::kMeta, records::meta_key(tag, ShardId()));
}

}  // namespace

std::vector<Seed> header_seeds() {
  ByteReader contribution(stored(0, Family::kInputs));
  const Push push = test::make_push({}, test::filled(1));
  return {seed("push", 0, push.header.encode()),
          seed("contribution", 1, contribution.get_bytes()),
          seed("entry", 2, stored(0, Family::kLog, records::commit_key(ShardId(), Version(9))))};
}

std::vector<Seed> record_seeds() {
  const PushId id{WorkerId(1), Incarnation(1), SequenceNo(2)};
  const std::vector<records::Pin> pins = {{Version(9), Hash(3)}, {Version(8), Hash(4)}};
  CheckpointList list;
  list.add({0, 1'700'000'000, "by hand", false, true, pins}, 3);
  return {seed("contribution", 0, stored(0, Family::kInputs)),
          seed("producers", 1, stored_meta('p')),
          seed("workers", 2, stored_meta('w')),
          seed("snapshot-block", 3, stored(0, Family::kSnapshot)),
          seed("snapshots", 4, stored_meta('s')),
          seed("number", 5, records::encode_u64(7)),
          seed("push-key", 6, records::push_key(ShardId(), id)),
          seed("push", 7, records::encode_push_record(Version(3), Verdict::kRefused)),
          seed("pins", 8, records::encode_pins(pins)),
          seed("checkpoints", 9, list.encode()),
          seed("restore", 10, RestoreSetting{RestoreEpoch(2), 1, pins}.encode()),
          seed("journal", 11, stored(1, Family::kOutbox, records::journal_key(ShardId())))};
}

std::vector<Seed> recovery_seeds() {
  constexpr std::uint8_t kPut = 0;
  constexpr std::uint8_t kEpoch = 8;
  InputWriter epoch;  // of region 0, and everything mended after it
  epoch.number(std::uint8_t{0x80}).number(kPut).number(kEpoch).number(std::uint16_t{0});
  epoch.part(records::encode_u64(3));
  return {seed("leader", 0, {}),
          seed("follower", 1, {}),
          seed("nothing", 2, {}),
          {"epoch", epoch.take()}};
}

}  // namespace godwit::fuzz
