#include "tests/fuzz/stored_log.h"

#include <array>

#include "tests/unit/core/bench.h"

namespace godwit::fuzz {
namespace {

constexpr std::uint64_t kRounds = 9;  // enough for a snapshot and a log after it

RunSettings settings() {
  RunSettings settings = test::small_settings();
  settings.update_codec = settings.contribution_codec = {CodecId::kInt8, false};
  settings.nesterov_steps_min = 1;
  settings.snapshot_versions = 4;
  settings.log_retained_versions = 3;
  return settings;
}

void push(test::Bench& bench, std::uint32_t region, std::uint64_t round) {
  test::PushParts parts;
  parts.worker = region + 1;
  parts.sequence = parts.round = round;
  bench.push(region, parts, test::filled(0.37F * static_cast<float>(round + region)));
}

Records records_of(const MemoryStore& store) {
  Records records;
  for (std::size_t number = 0; number < kFamilyCount; ++number) {
    const auto family = static_cast<Family>(number);
    const Bytes end(32, std::byte{0xFF});
    const auto scanned = store.scan(family, {}, end, [&](ByteView key, ByteView value) {
      records[{family, copy(key)}] = copy(value);
      return true;
    });
    GODWIT_CHECK(scanned.has_value(), "a store in memory is read");
  }
  return records;
}

std::array<Records, 2> run() {
  test::Bench bench(settings(), 2);
  bench.begin(test::filled(1));
  for (std::uint32_t region = 0; region < 2; ++region) bench.join(region, region + 1);
  for (std::uint64_t round = 1; round <= kRounds; ++round) {
    push(bench, 0, round);
    push(bench, 1, round);
  }
  bench.cut(0, 1);
  push(bench, 1, kRounds + 1);  // becomes an outbox item
  push(bench, 1, kRounds + 2);  // stays open, and is journaled
  bench.pass(bench.settings().ack_max_delay);
  return {records_of(bench.store(0)), records_of(bench.store(1))};
}

}  // namespace

const Records& stored_records(std::uint32_t region) {
  static const std::array<Records, 2> kRecords = run();
  return kRecords.at(region);
}

const ShardLayout& stored_layout() {
  static const Layout kLayout(test::small_manifest());
  return kLayout.shards.front();
}

void fill(MemoryStore& store, const Records& records) {
  Batch batch;
  for (const auto& [place, value] : records) batch.put(place.first, place.second, value);
  const auto written = store.write(batch);
  GODWIT_CHECK(written.has_value(), "a store in memory is written");
}

}  // namespace godwit::fuzz
