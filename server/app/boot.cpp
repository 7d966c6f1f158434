// RegionServer: from an open store to a running core.
#include <algorithm>
#include <boost/asio/post.hpp>
#include <filesystem>
#include <fstream>
#include <utility>

#include "server/app/region_server.h"
#include "server/app/run_settings.h"
#include "server/core/records.h"
#include "server/core/renewal.h"
#include "server/storage/family_name.h"
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
    const Result<Incarnation> replica = replica_incarnation(*store_, Incarnation(*value));
    if (!replica) return replica.error();
    last = replica->value();
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

// An epoch of this process for every shard that this region leads. False: the server stops.
asio::awaitable<bool> RegionServer::take_epochs(RegionCore::Place& place) {
  for (;;) {
    const Result<void> taken = co_await try_epochs(place);
    if (taken) co_return true;
    waits_for("the records of the shards: " + taken.error().to_string());
    const Result<void> slept = co_await net::sleep_for(kRetry);
    if (!slept) co_return false;
  }
}

asio::awaitable<Result<void>> RegionServer::try_epochs(RegionCore::Place& place) {
  Result<std::vector<HeldRecord>> records = co_await read_records(*control_, config_.run.leaders);
  if (!records) co_return records.error();
  place.records = std::move(*records);
  place.leads.assign(place.records.size(), false);
  for (std::uint32_t shard = 0; shard < place.records.size(); ++shard) {
    HeldRecord& held = place.records[shard];
    Result<std::optional<ShardRecord>> claim =
        claim_at_start(held, config_.run.leaders[shard], self(), place.replica,
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
  if (!incarnation) co_return fail(incarnation.error(), advice(incarnation.error().code));
  std::unique_ptr<RegionCore> core = co_await open_core(*manifest, *incarnation);
  if (!core) co_return;
  for (std::uint32_t shard = 0; shard < core->shard_count(); ++shard) {
    const ShardCore& opened = core->shard(ShardId(shard));
    log::info("shard", std::to_string(shard) +
                           (opened.leads() ? " leads in epoch " : " follows in epoch ") +
                           to_string(opened.epoch()) + " from version " +
                           to_string(opened.state().version()) + " (" +
                           std::to_string(opened.replayed()) + " replayed)");
  }
  shell_->open(std::move(core));
  recovered_ = true;
  waits_for("");
  group_->spawn(strand_, follow_control());
  group_->spawn(strand_, keep_checkpoints());
}

// Recovers from the store; where that is damaged, as a newcomer. nullptr: the server stops.
asio::awaitable<std::unique_ptr<RegionCore>> RegionServer::open_core(const Manifest& manifest,
                                                                     Incarnation incarnation) {
  std::optional<Renewal> renewal;
  for (bool damaged = std::filesystem::exists(damage_mark());;) {
    const Result<Incarnation> replica = replica_incarnation(*store_, incarnation);
    if (!replica) {
      fail(replica.error(), advice(replica.error().code));
      co_return nullptr;
    }
    RegionCore::Place place{self(), incarnation, *replica, {}, {}};
    const bool taken = co_await take_epochs(place);
    if (!taken) co_return nullptr;
    if (std::exchange(damaged, false)) {
      renewal = co_await renew(place);
      if (renewal == Renewal::kStops) co_return nullptr;
      continue;
    }
    waits_for("recovery from the store");
    Result<std::unique_ptr<RegionCore>> core =
        RegionCore::open(settings_, *store_, manifest, place, net::now());
    if (core) co_return std::move(*core);
    const Errc code = core.error().code;
    if (code != Errc::kCorrupt || renewal) {
      const bool alone = code == Errc::kCorrupt && renewal == Renewal::kAlone;
      fail(core.error(), advice(alone ? Errc::kConflict : code));
      co_return nullptr;
    }
    log::warning("boot", core.error().to_string());
    mark_damaged(core.error());
    damaged = true;
  }
}

// As server/core/renewal.h says. The mark lives until all is done.
asio::awaitable<RegionServer::Renewal> RegionServer::renew(const RegionCore::Place& place) {
  for (const Family family : kFamilies) {
    if (std::ranges::find(kReplicaFamilies, family) != kReplicaFamilies.end()) continue;
    if (const Result<void> kept = store_->verify(family); !kept) {
      fail(kept.error(), advice(kept.error().code));
      co_return Renewal::kStops;
    }
  }
  const Result<std::vector<Epoch>> left = co_await leave_sets(place);
  if (!left && left.error().code == Errc::kConflict) {
    log::warning("boot", "the data directory is damaged, and " + left.error().context +
                             ": goes on with what it has, until another region is in sync when it starts");
    co_return Renewal::kAlone;
  }
  if (!left) co_return Renewal::kStops;
  const Incarnation next(std::max(net::wall_microseconds(), place.replica.value() + 1));
  if (const Result<void> dropped = drop_replicas(*left, next); !dropped) {
    fail_disk(dropped.error());
    co_return Renewal::kStops;
  }
  log::warning("boot", "the data directory was damaged: this region left the in-sync sets, kept its outbox, and "
                       "reloads from the other regions");
  co_return Renewal::kDone;
}

// All of them or, as far as this process can know, none. Returns the epochs in which the shards are then. Errors:
// kConflict: no other region is in sync with one of them; kClosed: the server stops.
asio::awaitable<Result<std::vector<Epoch>>> RegionServer::leave_sets(const RegionCore::Place& place) {
  for (std::uint32_t shard = 0; shard < place.records.size(); ++shard) {
    const auto left = left_by(self(), ShardId(shard), place.records[shard].record);
    if (!left) co_return left.error();
  }
  std::vector<Epoch> epochs;
  while (epochs.size() < place.records.size()) {
    const HeldRecord& held = place.records[epochs.size()];
    Result<Epoch> left = held.record.epoch;
    const ShardId shard(static_cast<std::uint32_t>(epochs.size()));
    if (held.revision != Revision()) left = co_await leave_set(*control_, shard, self());
    if (left) {
      epochs.push_back(*left);
      continue;
    }
    if (left.error().code == Errc::kConflict) co_return left.error();
    waits_for("the control store, to leave the in-sync sets: " + left.error().to_string());
    const Result<void> slept = co_await net::sleep_for(kRetry);
    if (!slept) co_return slept.error();
  }
  co_return epochs;
}

Result<void> RegionServer::drop_replicas(const std::vector<Epoch>& epochs, Incarnation next) {
  if (Result<void> renamed = store_->write(replica_renamed(next)); !renamed) return renamed;
  for (const Family family : kReplicaFamilies) {
    if (Result<void> cleared = store_->clear(family); !cleared) return cleared;
  }
  if (Result<void> resumed = store_->resume_compactions(); !resumed) return resumed;
  if (Result<void> dropped = store_->write(replica_dropped(epochs)); !dropped) return dropped;
  std::error_code error;
  std::filesystem::remove(damage_mark(), error);
  if (error) log::warning("boot", "remove " + damage_mark().string() + ", or the next start reloads everything again");
  return {};
}

std::filesystem::path RegionServer::damage_mark() const {
  return config_.data_directory(own_.name) / "DAMAGED";
}

void RegionServer::mark_damaged(const Error& why) const {
  std::ofstream mark(damage_mark());
  if (!(mark << why.to_string() << std::endl)) log::warning("boot", damage_mark().string() + " cannot be written");
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
