#include "bench/raw_store.h"

#include "server/core/records.h"
#include "shared/net/clock.h"

namespace godwit::bench {

Result<std::unique_ptr<RawStore>> RawStore::open(const std::filesystem::path& directory) {
  Result<std::unique_ptr<RocksDbStore>> store = RocksDbStore::open(directory);
  if (!store) return store.error();
  return std::unique_ptr<RawStore>(new RawStore(std::move(*store)));
}

Result<double> RawStore::measure(Duration duration, const std::vector<SharedBytes>& values) {
  const TimePoint start = net::now();
  std::uint64_t written = 0;
  while (net::now() < start + duration) {
    Batch batch;
    for (const SharedBytes& value : values) {
      batch.put(Family::kOutbox, records::outbox_key(ShardId(0), SequenceNo(++next_key_)), value);
      written += value->size();
    }
    batch.sync = true;
    if (Result<void> done = store_->write(batch); !done) return done.error();
  }
  return static_cast<double>(written) / std::chrono::duration<double>(net::now() - start).count();
}

}  // namespace godwit::bench
