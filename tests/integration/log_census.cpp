#include "tests/integration/log_census.h"

#include <fstream>
#include <sstream>

#include "server/core/records.h"
#include "server/storage/rocksdb_store.h"

namespace godwit::integration {

Result<LogCensus> take_census(const std::filesystem::path& directory, std::uint32_t shards) {
  RocksDbOptions options;
  options.if_missing = IfMissing::kFail;
  const Result<std::unique_ptr<RocksDbStore>> store = RocksDbStore::open(directory, options);
  if (!store) return store.error();
  LogCensus census;
  for (std::uint32_t shard = 0; shard < shards; ++shard) {
    Version head;
    for (;;) {
      const Result<std::optional<Entry>> entry = records::read_entry(**store, ShardId(shard), head.next());
      if (!entry) return entry.error();
      if (!*entry) break;
      head = head.next();
      for (const Named& contribution : (*entry)->header.contributions) {
        for (const Member& member : contribution.members) ++census.named[{ShardId(shard), member.id}];
      }
    }
    census.heads.push_back(head);
  }
  return census;
}

std::vector<ShardPush> read_acknowledgements(const std::filesystem::path& file) {
  std::vector<ShardPush> pushes;
  std::ifstream in(file);
  std::string line;
  while (std::getline(in, line) && !in.eof()) {  // eof: the line has no end
    std::istringstream fields(line);
    std::uint32_t shard = 0;
    std::uint64_t worker = 0, incarnation = 0, sequence = 0;
    fields >> shard >> worker >> incarnation >> sequence;
    pushes.push_back({ShardId(shard), {WorkerId(worker), Incarnation(incarnation), SequenceNo(sequence)}});
  }
  return pushes;
}

}  // namespace godwit::integration
