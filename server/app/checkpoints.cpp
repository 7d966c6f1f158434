// RegionServer's checkpoints: the schedule, what operators ask for, and versions that are rebuilt
// from the store.
#include <boost/asio/post.hpp>
#include <chrono>

#include "server/app/model_file.h"
#include "server/app/region_server.h"
#include "server/core/recovery.h"
#include "shared/base/log.h"

namespace godwit::app {
namespace {

http::CheckpointReport report_checkpoint(const Checkpoint& checkpoint) {
  http::CheckpointReport report{checkpoint.id,        checkpoint.created_seconds, checkpoint.reason,
                                checkpoint.automatic, checkpoint.pinned,          {}};
  for (const records::Pin& pin : checkpoint.shards)
    report.shards.push_back({pin.version, pin.entry, false, ""});
  return report;
}

asio::awaitable<void> answer(asio::awaitable<Result<Checkpoint>> changed,
                             http::AdminService::Callback<Result<http::CheckpointReport>> done) {
  const Result<Checkpoint> checkpoint = co_await std::move(changed);
  if (checkpoint) {
    done(report_checkpoint(*checkpoint));
  } else {
    done(checkpoint.error());
  }
}

}  // namespace

// Runs where it may take long: reads of the store need no strand.
void RegionServer::with_store(std::function<void(const Result<Manifest>&)> use) {
  asio::post(strand_, [this, use = std::move(use)] {
    Result<Manifest> manifest = Error{Errc::kUnavailable, "no worker has offered a model yet"};
    if (manifest_) manifest = Error{Errc::kUnavailable, "the server is still recovering"};
    if (manifest_ && recovered_) manifest = *manifest_;
    asio::post(io_, [manifest, use] { use(manifest); });
  });
}

void RegionServer::rebuilt_hashes(ShardId shard, Version version,
                                  Callback<Result<http::BlockHashesReport>> done) {
  with_store([this, shard, version, done = std::move(done)](const Result<Manifest>& manifest) {
    if (!manifest) return done(manifest.error());
    const Layout layout(*manifest);
    if (shard.value() >= layout.shards.size())
      return done(Error{Errc::kNotFound, "no shard " + to_string(shard)});
    const Result<ShardState> state = rebuild(*store_, shard, layout.shards[shard.value()], version);
    if (!state) return done(state.error());
    http::BlockHashesReport report{shard, version, state->head_hash(), {}};
    for (std::uint32_t block = 0; block < state->block_count(); ++block)
      report.blocks.push_back(state->rehash(block));
    done(std::move(report));
  });
}

void RegionServer::past_model(std::vector<Version> versions, Callback<Result<SharedBytes>> done) {
  with_store([this, versions = std::move(versions),
              done = std::move(done)](const Result<Manifest>& manifest) {
    if (!manifest) return done(manifest.error());
    const Layout layout(*manifest);
    ModelFile file(*manifest, layout);
    for (std::uint32_t id = 0; id < layout.shards.size(); ++id) {
      const Result<ShardState> state =
          rebuild(*store_, ShardId(id), layout.shards[id], versions[id]);
      if (!state) return done(state.error());
      file.add(*state);
    }
    done(share(file.encode()));
  });
}

// The checkpoints as the control store was last heard to hold them.
CheckpointList RegionServer::known_checkpoints() const {
  std::lock_guard lock(state_mutex_);
  return checkpoints_;
}

void RegionServer::checkpoints(Callback<Result<http::CheckpointsReport>> done) {
  with_store([this, done = std::move(done)](const Result<Manifest>& manifest) {
    http::CheckpointsReport report{own_.region, {}};
    for (const Checkpoint& checkpoint : known_checkpoints().items)
      report.items.push_back(report_checkpoint(checkpoint));
    const std::size_t shards = manifest ? manifest->shards : 0;
    for (std::uint32_t id = 0; id < shards; ++id) {
      const Result<Retention> retention = Retention::load(*store_, ShardId(id));
      for (http::CheckpointReport& item : report.items) {
        if (id >= item.shards.size()) continue;
        http::CheckpointReport::Shard& shard = item.shards[id];
        const Result<void> keeps = retention
                                       ? retention->keeps({shard.version, shard.entry}, *store_)
                                       : Result<void>(retention.error());
        shard.kept = keeps.has_value();
        if (!keeps) shard.reason = keeps.error().context;
      }
    }
    done(std::move(report));
  });
}

// Of every shard, as this replica knows it.
asio::awaitable<Result<std::vector<records::Pin>>> RegionServer::settled() {
  struct Answer {
    explicit Answer(asio::any_io_executor executor) : arrived(std::move(executor)) {}
    net::Event arrived;
    std::optional<Result<std::vector<records::Pin>>> pins;
  };
  const auto answer = std::make_shared<Answer>(strand_);
  shell_->inspect([this, answer](const RegionCore* core) {
    Result<std::vector<records::Pin>> pins = std::vector<records::Pin>();
    if (core == nullptr) pins = Error{Errc::kUnavailable, "the shards are not loaded yet"};
    for (std::uint32_t id = 0; pins && id < core->shard_count(); ++id) {
      const Result<records::Pin> pin = core->shard(ShardId(id)).settled();
      if (pin) pins->push_back(*pin);
      if (!pin) pins = pin.error();
    }
    asio::post(strand_, [answer, pins = std::move(pins)] {
      answer->pins = pins;
      answer->arrived.notify();
    });
  });
  while (!answer->pins) {
    const Result<void> waited = co_await answer->arrived.wait_until(net::now() + kControlDeadline);
    if (!waited && !answer->pins) co_return waited.error();
  }
  co_return std::move(*answer->pins);
}

asio::awaitable<Result<Checkpoint>> RegionServer::make_checkpoint(std::string reason,
                                                                  bool automatic) {
  Result<std::vector<records::Pin>> pins = co_await settled();
  if (!pins) co_return pins.error();
  Checkpoint checkpoint;
  checkpoint.created_seconds = std::chrono::duration_cast<std::chrono::seconds>(
                                   std::chrono::system_clock::now().time_since_epoch())
                                   .count();  // for people; nothing is decided by it
  checkpoint.reason = std::move(reason);
  checkpoint.automatic = automatic;
  checkpoint.shards = std::move(*pins);
  Result<Checkpoint> added =
      co_await add_checkpoint(*control_, std::move(checkpoint), config_.checkpoint.keep);
  if (added) log::info("checkpoint", std::to_string(added->id) + ": " + added->reason);
  co_return added;
}

void RegionServer::create_checkpoint(std::string reason,
                                     Callback<Result<http::CheckpointReport>> done) {
  group_->spawn(strand_, answer(make_checkpoint(std::move(reason), false), std::move(done)));
}

void RegionServer::pin_checkpoint(std::uint64_t id, bool pinned,
                                  Callback<Result<http::CheckpointReport>> done) {
  group_->spawn(strand_, answer(app::pin_checkpoint(*control_, id, pinned), std::move(done)));
}

void RegionServer::remove_checkpoint(std::uint64_t id,
                                     Callback<Result<http::CheckpointReport>> done) {
  group_->spawn(strand_, answer(app::remove_checkpoint(*control_, id), std::move(done)));
}

void RegionServer::restore_checkpoint(std::uint64_t id,
                                      Callback<Result<http::RestoreReport>> done) {
  group_->spawn(strand_, restore_checkpoint_now(id, std::move(done)));
}

asio::awaitable<void> RegionServer::restore_checkpoint_now(
    std::uint64_t id, Callback<Result<http::RestoreReport>> done) {
  const Result<RestoreSetting> setting = co_await app::restore_checkpoint(*control_, id);
  if (!setting) co_return done(setting.error());
  log::warning("checkpoint", std::to_string(id) + " is restored by an operator");
  done(http::RestoreReport{id, setting->epoch});
}

// Only the leader of shard 0 makes them, and compare-and-swap keeps two that believe it from doing
// harm. The interval counts from what this process has seen: a clock that is set does not move it.
asio::awaitable<void> RegionServer::keep_checkpoints() {
  const CheckpointConfig& config = config_.checkpoint;
  const CheckpointSchedule schedule{config.versions, config.interval, config.keep};
  std::uint64_t last_id = 0;
  TimePoint since = net::now();
  for (;;) {
    const Result<void> slept = co_await net::sleep_for(seconds(1));
    if (!slept) co_return;
    const CheckpointList list = known_checkpoints();
    if (list.last_id != last_id) since = net::now();
    last_id = list.last_id;
    const Version last = list.items.empty() ? Version() : list.items.back().shards.front().version;
    std::optional<std::string> why = schedule.due(settled_as_leader_, last, net::now() - since);
    if (!why) continue;
    const Result<Checkpoint> made = co_await make_checkpoint(std::move(*why), true);
    if (!made) log::debug("checkpoint", "not yet: " + made.error().to_string());
  }
}

}  // namespace godwit::app
