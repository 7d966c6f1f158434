#include "server/app/control_access.h"

#include <algorithm>
#include <boost/asio/post.hpp>
#include <boost/asio/this_coro.hpp>
#include <memory>

#include "server/core/renewal.h"

namespace godwit::app {
namespace {

struct Answer {
  explicit Answer(asio::any_io_executor executor) : arrived(std::move(executor)) {}
  net::Event arrived;
  std::optional<ControlReply> reply;
};

ControlRequest get_request(std::string_view key) {
  ControlRequest request;
  request.key = std::string(key);
  return request;
}

ControlRequest swap_request(std::string_view key, Revision expected, Bytes value) {
  ControlRequest request;
  request.kind = ControlKind::kCompareAndSwap;
  request.key = std::string(key);
  request.expected_revision = expected;
  request.value = std::move(value);
  return request;
}

bool lost_race(const ControlReply& reply) {
  return reply.error && reply.error->code == Errc::kConflict;
}

}  // namespace

asio::awaitable<ControlReply> ask(ControlStore& store, ControlRequest request) {
  const auto executor = co_await asio::this_coro::executor;
  const auto answer = std::make_shared<Answer>(executor);
  const TimePoint deadline = net::now() + kControlDeadline + request.wait;
  store.request(std::move(request), [answer, executor](ControlReply reply) {
    asio::post(executor, [answer, reply = std::move(reply)]() mutable {
      answer->reply = std::move(reply);
      answer->arrived.notify();
    });
  });
  while (!answer->reply) {
    const Result<void> waited = co_await answer->arrived.wait_until(deadline);
    if (!waited && !answer->reply) {
      ControlReply late;
      late.error = Error{waited.error().code, "the control store does not answer"};
      co_return late;
    }
  }
  co_return std::move(*answer->reply);
}

asio::awaitable<Result<Bytes>> change_item(ControlStore& store, std::string_view key, Change change) {
  for (;;) {
    ControlRequest get = get_request(key);
    const ControlReply now = co_await ask(store, std::move(get));
    if (now.error) co_return *now.error;
    const bool present = !now.items.empty();
    Result<Bytes> next = change(present ? ByteView(now.items.front().value) : ByteView());
    if (!next) co_return next.error();
    ControlRequest swap = swap_request(key, present ? now.items.front().revision : Revision(), *next);
    const ControlReply set = co_await ask(store, std::move(swap));
    if (!set.error) co_return std::move(*next);
    if (!lost_race(set)) co_return *set.error;
  }
}

asio::awaitable<Result<std::vector<HeldRecord>>> read_records(ControlStore& store,
                                                              std::vector<RegionId> first) {
  std::vector<HeldRecord> records;
  for (const RegionId leader : first) records.push_back({{leader, {}, {}, {}}, Revision()});
  ControlRequest list = get_request(control_keys::kShards);
  list.kind = ControlKind::kList;
  const ControlReply reply = co_await ask(store, std::move(list));
  if (reply.error) co_return *reply.error;
  for (const ControlItem& item : reply.items) {
    const auto shard = control_keys::parse_id(item.key, control_keys::kShards, "/leader");
    if (!shard || *shard >= records.size()) continue;
    Result<ShardRecord> record = ShardRecord::decode(item.value);
    if (!record) co_return record.error();
    records[*shard] = {std::move(*record), item.revision};
  }
  co_return records;
}

asio::awaitable<Result<HeldRecord>> swap_record(ControlStore& store, ShardId shard,
                                                ShardRecord next, Revision expected) {
  ControlRequest swap = godwit::swap_record(shard, next, expected);
  const ControlReply set = co_await ask(store, std::move(swap));
  if (set.error) co_return *set.error;
  co_return HeldRecord{std::move(next), set.items.front().revision};
}

asio::awaitable<Result<Epoch>> leave_set(ControlStore& store, ShardId shard, RegionId self) {
  Epoch epoch;
  Change change = [&](ByteView held) -> Result<Bytes> {
    const Result<ShardRecord> record = ShardRecord::decode(held);
    if (!record) return record.error();
    const Result<ShardRecord> left = left_by(self, shard, *record);
    if (!left) return left.error();
    epoch = left->epoch;
    return left->encode();
  };
  const std::string key = control_keys::shard_leader(shard);
  const Result<Bytes> changed = co_await change_item(store, key, std::move(change));
  if (!changed) co_return changed.error();
  co_return epoch;
}

asio::awaitable<Result<ShardRecord>> hand_over(ControlStore& store, ShardId shard, RegionId next) {
  for (;;) {
    ControlRequest get = get_request(control_keys::shard_leader(shard));
    const ControlReply now = co_await ask(store, std::move(get));
    if (now.error) co_return *now.error;
    if (now.items.empty())
      co_return Error{Errc::kNotFound, "it has no leader yet: start a worker, it brings the model"};
    const Result<ShardRecord> record = ShardRecord::decode(now.items.front().value);
    if (!record) co_return record.error();
    if (record->leader == next) co_return *record;
    if (!record->in_sync.contains(next)) {
      co_return Error{Errc::kConflict,
                      "it is not in the in-sync set: what the others acknowledged would be lost; "
                      "wait until it has caught up"};
    }
    ControlRequest get_lease = get_request(control_keys::region_lease(next));
    const ControlReply lease = co_await ask(store, std::move(get_lease));
    if (lease.error) co_return *lease.error;
    if (lease.items.empty() || lease.items.front().value.empty()) {
      co_return Error{Errc::kConflict, "it is away (its lease is over): nobody would lead; start its server first"};
    }
    ShardRecord wanted = record->led_by(next);
    Result<HeldRecord> set =
        co_await swap_record(store, shard, std::move(wanted), now.items.front().revision);
    if (set) co_return set->record;
    if (set.error().code != Errc::kConflict) co_return set.error();
  }
}

asio::awaitable<Result<std::optional<Manifest>>> read_manifest(ControlStore& store) {
  ControlRequest get = get_request(control_keys::kRunManifest);
  const ControlReply reply = co_await ask(store, std::move(get));
  if (reply.error) co_return *reply.error;
  if (reply.items.empty()) co_return std::optional<Manifest>();
  Result<Manifest> manifest = Manifest::decode(reply.items.front().value);
  if (!manifest) co_return manifest.error();
  co_return std::optional<Manifest>(std::move(*manifest));
}

asio::awaitable<Result<Manifest>> offer_manifest(ControlStore& store, Manifest manifest) {
  ControlRequest swap = swap_request(control_keys::kRunManifest, Revision(), manifest.encode());
  const ControlReply set = co_await ask(store, std::move(swap));
  if (!set.error) co_return manifest;
  if (!lost_race(set)) co_return *set.error;
  Result<std::optional<Manifest>> present = co_await read_manifest(store);
  if (!present) co_return present.error();
  if (!*present) co_return Error{Errc::kUnavailable, "control store: the manifest vanished"};
  co_return std::move(**present);
}

asio::awaitable<Result<std::optional<ModeSetting>>> read_mode(ControlStore& store) {
  ControlRequest get = get_request(control_keys::kRunMode);
  const ControlReply reply = co_await ask(store, std::move(get));
  if (reply.error) co_return *reply.error;
  if (reply.items.empty()) co_return std::optional<ModeSetting>();
  const Result<ModeSetting> setting = ModeSetting::decode(reply.items.front().value);
  if (!setting) co_return setting.error();
  co_return std::optional<ModeSetting>(*setting);
}

asio::awaitable<Result<ModeSetting>> change_mode(ControlStore& store, Mode mode,
                                                 std::uint32_t sync_steps,
                                                 std::uint32_t default_steps) {
  ModeSetting setting;
  Change change = [&](ByteView held) -> Result<Bytes> {
    ModeSetting before{mode, ModeEpoch(), default_steps};
    if (!held.empty()) {
      const Result<ModeSetting> decoded = ModeSetting::decode(held);
      if (!decoded) return decoded.error();
      before = *decoded;
    }
    setting = {mode, before.mode_epoch.next(), sync_steps == 0 ? before.sync_steps : sync_steps};
    return setting.encode();
  };
  const Result<Bytes> changed = co_await change_item(store, control_keys::kRunMode, std::move(change));
  if (!changed) co_return changed.error();
  co_return setting;
}

namespace {

Error no_checkpoint(std::uint64_t id, const CheckpointList& list) {
  std::string ids;
  for (const Checkpoint& item : list.items) ids += (ids.empty() ? "" : ", ") + std::to_string(item.id);
  return {Errc::kNotFound, "there is no checkpoint " + std::to_string(id) +
                               (ids.empty() ? "; there is none at all" : "; there are " + ids)};
}

Result<CheckpointList> decode_checkpoints(ByteView held) {
  return held.empty() ? CheckpointList() : CheckpointList::decode(held);
}

// Changes one checkpoint of the list, and returns it as it was then.
asio::awaitable<Result<Checkpoint>> change_checkpoint(
    ControlStore& store, std::uint64_t id, std::function<Result<void>(CheckpointList&, Checkpoint&)> apply) {
  Checkpoint chosen;
  Change change = [&](ByteView held) -> Result<Bytes> {
    Result<CheckpointList> list = decode_checkpoints(held);
    if (!list) return list.error();
    const auto found = std::ranges::find(list->items, id, &Checkpoint::id);
    if (found == list->items.end()) return no_checkpoint(id, *list);
    chosen = *found;
    if (const Result<void> applied = apply(*list, chosen); !applied) return applied.error();
    return list->encode();
  };
  const Result<Bytes> changed = co_await change_item(store, control_keys::kRunCheckpoints, std::move(change));
  if (!changed) co_return changed.error();
  co_return chosen;
}

}  // namespace

asio::awaitable<Result<Checkpoint>> add_checkpoint(ControlStore& store, Checkpoint checkpoint, std::uint32_t keep) {
  Checkpoint added;
  Change change = [&](ByteView held) -> Result<Bytes> {
    Result<CheckpointList> list = decode_checkpoints(held);
    if (!list) return list.error();
    added = list->add(checkpoint, keep);
    if (list->items.size() > kCheckpointsMax) {
      return Error{Errc::kConflict, std::to_string(kCheckpointsMax) +
                                        " checkpoints are kept already: remove one with godwit checkpoint rm ID"};
    }
    return list->encode();
  };
  const Result<Bytes> changed = co_await change_item(store, control_keys::kRunCheckpoints, std::move(change));
  if (!changed) co_return changed.error();
  co_return added;
}

asio::awaitable<Result<Checkpoint>> pin_checkpoint(ControlStore& store, std::uint64_t id, bool pinned) {
  std::function<Result<void>(CheckpointList&, Checkpoint&)> apply = [pinned](CheckpointList& list, Checkpoint& chosen) {
    chosen.pinned = pinned;
    *std::ranges::find(list.items, chosen.id, &Checkpoint::id) = chosen;
    return Result<void>();
  };
  Result<Checkpoint> changed = co_await change_checkpoint(store, id, std::move(apply));
  co_return changed;
}

asio::awaitable<Result<Checkpoint>> remove_checkpoint(ControlStore& store, std::uint64_t id) {
  std::function<Result<void>(CheckpointList&, Checkpoint&)> apply = [](CheckpointList& list,
                                                                       Checkpoint& chosen) -> Result<void> {
    if (chosen.pinned) {
      const std::string text = std::to_string(chosen.id);
      return Error{Errc::kConflict,
                   "checkpoint " + text + " is pinned; release it with godwit checkpoint pin " + text + " --off"};
    }
    std::erase_if(list.items, [&](const Checkpoint& item) { return item.id == chosen.id; });
    return {};
  };
  Result<Checkpoint> changed = co_await change_checkpoint(store, id, std::move(apply));
  co_return changed;
}

asio::awaitable<Result<RestoreSetting>> restore_checkpoint(ControlStore& store, std::uint64_t id) {
  ControlRequest get = get_request(control_keys::kRunCheckpoints);
  const ControlReply reply = co_await ask(store, std::move(get));
  if (reply.error) co_return *reply.error;
  const Result<CheckpointList> list =
      decode_checkpoints(reply.items.empty() ? ByteView() : ByteView(reply.items.front().value));
  if (!list) co_return list.error();
  const Checkpoint* const found = list->find(id);
  if (found == nullptr) co_return no_checkpoint(id, *list);
  RestoreSetting setting{RestoreEpoch(), id, found->shards};
  Change change = [&](ByteView held) -> Result<Bytes> {
    const Result<RestoreSetting> last = held.empty() ? RestoreSetting() : RestoreSetting::decode(held);
    if (!last) return last.error();
    setting.epoch = last->epoch.next();
    return setting.encode();
  };
  const Result<Bytes> changed = co_await change_item(store, control_keys::kRunRestore, std::move(change));
  if (!changed) co_return changed.error();
  co_return setting;
}

}  // namespace godwit::app
