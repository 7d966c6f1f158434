// RegionServer: from an open store to a running core.
#include <algorithm>
#include <boost/asio/post.hpp>

#include "server/app/region_server.h"
#include "server/app/run_settings.h"
#include "server/core/records.h"
#include "shared/base/log.h"

namespace godwit::app {
namespace {

constexpr Duration kRetry = milliseconds(200);
constexpr Duration kWatch = seconds(10);
constexpr Duration kControlTick = milliseconds(100);

}  // namespace

Result<Incarnation> RegionServer::read_incarnation() {
  const Bytes key = records::meta_key('i');
  std::uint64_t last = 0;
  Result<std::optional<Bytes>> stored = store_->get(Family::kMeta, key);
  if (!stored) return stored.error();
  if (*stored) {
    const Result<std::uint64_t> value = records::decode_u64(**stored);
    if (!value) return value.error();
    // Acknowledgements that nothing backs die with the process, so its sequence numbers must, too.
    if (settings_.ack != AckClass::kMemory) return Incarnation(*value);
    last = *value;
  }
  // A clock, so that a directory that was lost has no namesake; above the last one, wherever the clock was set to.
  const std::uint64_t value = std::max(net::wall_microseconds(), last + 1);
  Batch batch;
  batch.put(Family::kMeta, key, records::encode_u64(value));
  batch.sync = true;
  if (Result<void> written = store_->write(batch); !written) return written.error();
  return Incarnation(value);
}

Result<std::optional<Manifest>> RegionServer::read_stored_manifest() const {
  Result<std::optional<Bytes>> stored = store_->get(Family::kMeta, records::meta_key('m'));
  if (!stored) return stored.error();
  if (!*stored) return std::optional<Manifest>();
  Result<Manifest> manifest = Manifest::decode(**stored);
  if (!manifest) return manifest.error();
  return std::optional<Manifest>(std::move(*manifest));
}

Result<void> RegionServer::learn_manifest(const Manifest& manifest) {
  if (manifest_) return {};
  if (Result<void> fits = fits_in_memory(manifest, physical_memory_bytes()); !fits) return fits;
  Batch batch;
  batch.put(Family::kMeta, records::meta_key('m'), manifest.encode());
  batch.sync = true;
  if (Result<void> written = store_->write(batch); !written) return written;
  manifest_ = manifest;
  const std::uint64_t limit = wire::max_message_bytes(Layout(manifest));
  links_->set_max_message_bytes(limit);
  workers_->set_max_message_bytes(limit);
  {
    std::lock_guard lock(state_mutex_);
    manifest_hash_ = to_string(manifest.hash());
  }
  manifest_known_.notify();
  return {};
}

asio::awaitable<std::optional<Manifest>> RegionServer::await_manifest() {
  Result<std::optional<Manifest>> known = read_stored_manifest();
  while (!manifest_) {
    if (known && *known) {
      if (const Result<void> learned = learn_manifest(**known); !learned) {
        fail(learned.error());
        co_return std::nullopt;
      }
      break;
    }
    waits_for(known ? "a worker to offer the model"
                    : "the control store: " + known.error().to_string());
    const Result<void> waited = co_await manifest_known_.wait_until(net::now() + kRetry);
    if (!waited && waited.error().code == Errc::kClosed) co_return std::nullopt;
    if (!manifest_) known = co_await read_manifest(*control_);
  }
  co_return manifest_;
}

// An epoch of this process for every shard that this region leads.
asio::awaitable<Result<void>> RegionServer::take_epochs(RegionCore::Place& place) {
  Result<std::vector<HeldRecord>> records = co_await read_records(*control_, config_.run.leaders);
  if (!records) co_return records.error();
  place.records = std::move(*records);
  place.leads.assign(place.records.size(), false);
  for (std::uint32_t shard = 0; shard < place.records.size(); ++shard) {
    HeldRecord& held = place.records[shard];
    Result<std::optional<ShardRecord>> claim =
        claim_at_start(held, config_.run.leaders[shard], self(), place.incarnation,
                       settings_.ack == AckClass::kMemory);
    if (!claim)
      co_return Error{claim.error().code,
                      "shard " + std::to_string(shard) + ": " + claim.error().context};
    if (!*claim) continue;
    Result<HeldRecord> swapped =
        co_await swap_record(*control_, ShardId(shard), std::move(**claim), held.revision);
    if (!swapped) co_return swapped.error();
    held = std::move(*swapped);
    place.leads[shard] = held.record.leader == self();
  }
  co_return Result<void>();
}

asio::awaitable<void> RegionServer::boot() {
  const std::optional<Manifest> manifest = co_await await_manifest();
  if (!manifest) co_return;
  const Result<Incarnation> incarnation = read_incarnation();
  if (!incarnation) co_return fail(incarnation.error());
  RegionCore::Place place{self(), *incarnation, {}, {}};
  for (;;) {
    const Result<void> taken = co_await take_epochs(place);
    if (taken) break;
    waits_for("the records of the shards: " + taken.error().to_string());
    const Result<void> slept = co_await net::sleep_for(kRetry);
    if (!slept) co_return;
  }
  waits_for("recovery from the store");
  Result<std::unique_ptr<RegionCore>> core =
      RegionCore::open(settings_, *store_, *manifest, place, net::now());
  if (!core) co_return fail(core.error());
  for (std::uint32_t shard = 0; shard < (*core)->shard_count(); ++shard) {
    const ShardCore& opened = (*core)->shard(ShardId(shard));
    log::info("shard", std::to_string(shard) +
                           (opened.leads() ? " leads in epoch " : " follows in epoch ") +
                           to_string(opened.epoch()) + " from version " +
                           to_string(opened.state().version()) + " (" +
                           std::to_string(opened.replayed()) + " replayed)");
  }
  shell_->open(std::move(*core));
  waits_for("");
  group_->spawn(strand_, follow_control());
  group_->spawn(strand_, keep_checkpoints());
}

// Tells the core what the control store holds, now and at every change.
asio::awaitable<void> RegionServer::follow_control() {
  Revision since;
  for (;;) {
    ControlRequest watch;
    watch.kind = ControlKind::kWatch;
    watch.since_revision = since;
    watch.wait = kWatch;
    const ControlReply reply = co_await ask(*control_, std::move(watch));
    tell(reply);
    if (!reply.error) {
      since = reply.revision;
      continue;
    }
    if (reply.error->code == Errc::kForked) since = Revision();
    const Result<void> slept = co_await net::sleep_for(kRetry);
    if (!slept) co_return;
  }
}

void RegionServer::tell(const ControlReply& reply) {
  for (const ControlItem& item : reply.items) {
    if (const Result<ModeSetting> mode = ModeSetting::decode(item.value);
        mode && item.key == control_keys::kRunMode) {
      std::lock_guard lock(state_mutex_);
      if (mode->mode_epoch > shown_mode_.mode_epoch) shown_mode_ = *mode;
    }
    if (Result<CheckpointList> list = CheckpointList::decode(item.value);
        list && item.key == control_keys::kRunCheckpoints) {
      std::lock_guard lock(state_mutex_);
      if (item.revision > checkpoints_revision_) checkpoints_ = std::move(*list);
      checkpoints_revision_ = std::max(checkpoints_revision_, item.revision);
    }
    shell_->post([item](RegionCore& core, TimePoint now) { return core.on_control(item, now); });
  }
}

asio::awaitable<void> RegionServer::tick_control() {
  for (;;) {
    embedded_control_->tick();
    const Result<void> slept = co_await net::sleep_for(kControlTick);
    if (!slept) co_return;
  }
}

void RegionServer::waits_for(std::string what) {
  std::lock_guard lock(state_mutex_);
  if (!what.empty() && what != waits_for_) log::info("boot", "waits for " + what);
  waits_for_ = std::move(what);
}

}  // namespace godwit::app
