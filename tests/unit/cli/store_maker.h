// StoreMaker: a server's store with a log of one shard in it, written by the real code, with the
// faults that a test plants.
#pragma once

#include <filesystem>
#include <memory>
#include <utility>
#include <vector>

#include "server/core/records.h"
#include "server/storage/rocksdb_store.h"
#include "shared/base/checksum.h"
#include "shared/tensor/kernels.h"

namespace godwit::cli {

inline PushId push_id(std::uint64_t worker, std::uint64_t sequence) {
  return {WorkerId(worker), Incarnation(1), SequenceNo(sequence)};
}

// An entry to write. Class types have initializers so that tests may name only what matters to
// them.
struct Plan {
  EntryKind kind = EntryKind::kRound;
  Mode mode = Mode::kAsync;
  std::vector<PushId> pushes{};
  bool push_records = true;
  bool payload = true;
  Bytes stored_payload{};  // instead of the right one
  std::uint64_t skip_versions = 0;
  Hash chain_damage{};        // added to the hash of the entry before
  std::uint64_t flavour = 0;  // makes equal plans give different entries
};

class StoreMaker {
 public:
  explicit StoreMaker(const std::filesystem::path& directory) {
    auto opened = RocksDbStore::open(directory);
    GODWIT_CHECK(opened.has_value(), "the test's store opens");
    store_ = std::move(*opened);
  }

  EntryHeader add(const Plan& plan = {}) {
    EntryHeader header;
    header.shard = ShardId(0);
    header.version = Version(last_.value() + 1 + plan.skip_versions);
    header.epoch = Epoch(1);
    header.previous = Hash(hash_.value() + plan.chain_damage.value());
    header.kind = plan.kind;
    header.mode = plan.mode;
    header.mode_epoch = ModeEpoch(1);
    header.round = Round(header.version.value());
    header.total_tokens = tokens_ += 100;
    header.median_steps = static_cast<std::uint32_t>(plan.flavour);
    Named named;
    for (const PushId& id : plan.pushes)
      named.members.push_back(Member{id, 1, 1, 100, 1, Verdict::kApplied});
    if (!named.members.empty()) header.contributions.push_back(named);
    const Bytes payload(12, static_cast<std::byte>(header.version.value()));
    if (plan.payload) {
      const auto bytes = static_cast<std::uint32_t>(payload.size());
      header.blocks.push_back(
          {CodecSpec{CodecId::kFp32, false}, bytes, checksum(payload), state_at(header.version)});
    }
    std::vector<SharedBytes> payloads;
    if (plan.payload)
      payloads.push_back(share(plan.stored_payload.empty() ? payload : plan.stored_payload));
    const Entry entry = records::make_entry(header, payloads);
    Batch batch;
    Batch commit;
    records::write_entry(entry, batch, commit);
    if (plan.push_records) records::write_named_pushes(header, commit);
    write(batch);
    write(commit);
    last_ = header.version;
    hash_ = entry.hash;
    return header;
  }

  // The values of the only block after `version`.
  static std::vector<float> values_at(Version version) {
    return {1.0F, static_cast<float>(version.value())};
  }
  static Hash state_at(Version version) { return kernels::block_hash(values_at(version)); }

  void write(const Batch& batch) {
    const auto written = store_->write(batch);
    GODWIT_CHECK(written.has_value(), "the test's store takes a batch");
  }
  template <class... Arguments>
  void put(Arguments&&... arguments) {
    Batch batch;
    batch.put(std::forward<Arguments>(arguments)...);
    write(batch);
  }
  void erase(Family family, Bytes key) {
    Batch batch;
    batch.erase(family, std::move(key));
    write(batch);
  }

 private:
  std::unique_ptr<RocksDbStore> store_;
  Version last_;
  Hash hash_;
  std::uint64_t tokens_ = 0;
};

}  // namespace godwit::cli
