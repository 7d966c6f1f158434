#include "server/core/renewal.h"

#include <algorithm>

#include "server/core/records.h"

namespace godwit {

Result<ShardRecord> left_by(RegionId self, ShardId shard, const ShardRecord& record) {
  if (!record.in_sync.contains(self)) return record;
  std::optional<ShardRecord> led_by_another = record.without(self);
  if (!led_by_another) {
    return Error{Errc::kConflict, "no other region is in sync with shard " + to_string(shard) +
                                      ", so there is nobody to reload it from"};
  }
  if (record.leader == self) return std::move(*led_by_another);
  ShardRecord next = record;
  next.in_sync.erase(self);
  return next;
}

Batch replica_renamed(Incarnation next) {
  Batch batch;
  batch.put(Family::kMeta, records::meta_key('r'), records::encode_u64(next.value()));
  batch.sync = true;
  return batch;
}

Batch replica_dropped(const std::vector<Epoch>& epochs) {
  Batch batch;
  for (std::uint32_t shard = 0; shard < epochs.size(); ++shard) {
    for (const char table : {'p', 's', 'c'}) batch.erase(Family::kMeta, records::meta_key(table, ShardId(shard)));
    // An older leader stays refused, whatever is left of the epoch that was stored.
    batch.put(Family::kMeta, records::meta_key('e', ShardId(shard)), records::encode_u64(epochs[shard].value()));
  }
  batch.sync = true;
  return batch;
}

Result<Incarnation> replica_incarnation(const StoreReader& store, Incarnation directory) {
  const Result<std::optional<Bytes>> stored = store.get(Family::kMeta, records::meta_key('r'));
  if (!stored) return stored.error();
  if (!*stored) return directory;
  const Result<std::uint64_t> value = records::decode_u64(**stored);
  if (!value) return value.error();
  return std::max(directory, Incarnation(*value));
}

}  // namespace godwit
