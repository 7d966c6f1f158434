#include "server/app/control_access.h"

#include <boost/asio/post.hpp>
#include <boost/asio/this_coro.hpp>
#include <memory>

#include "shared/base/byte_stream.h"

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

Bytes encode_mode(const ModeSetting& setting) {
  ByteWriter out;
  out.put(setting.mode);
  out.put(setting.mode_epoch);
  out.put(setting.sync_steps);
  return out.take();
}

bool lost_race(const ControlReply& reply) { return reply.error && reply.error->code == Errc::kConflict; }

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

asio::awaitable<Result<Epoch>> take_epoch(ControlStore& store, ShardId shard, RegionId region) {
  const std::string key = control_keys::shard_leader(shard);
  for (;;) {
    ControlRequest get = get_request(key);
    const ControlReply now = co_await ask(store, std::move(get));
    if (now.error) co_return *now.error;
    Epoch epoch;
    Revision revision;
    if (!now.items.empty()) {
      ByteReader in(now.items.front().value);
      in.get<RegionId>();
      in.get(epoch);
      if (!in.finished()) co_return Error{Errc::kCorrupt, "control store: " + key};
      revision = now.items.front().revision;
    }
    ByteWriter out;
    out.put(region);
    out.put(epoch.next());
    ControlRequest swap = swap_request(key, revision, out.take());
    const ControlReply set = co_await ask(store, std::move(swap));
    if (!set.error) co_return epoch.next();
    if (!lost_race(set)) co_return *set.error;
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

Result<ModeSetting> decode_mode(ByteView bytes) {
  ByteReader in(bytes);
  ModeSetting setting;
  in.get(setting.mode);
  in.get(setting.mode_epoch);
  in.get(setting.sync_steps);
  const bool known = setting.mode == Mode::kAsync || setting.mode == Mode::kSync;
  if (!in.finished() || !known) return Error{Errc::kCorrupt, "control store: run/mode"};
  return setting;
}

asio::awaitable<Result<std::optional<ModeSetting>>> read_mode(ControlStore& store) {
  ControlRequest get = get_request(control_keys::kRunMode);
  const ControlReply reply = co_await ask(store, std::move(get));
  if (reply.error) co_return *reply.error;
  if (reply.items.empty()) co_return std::optional<ModeSetting>();
  const Result<ModeSetting> setting = decode_mode(reply.items.front().value);
  if (!setting) co_return setting.error();
  co_return std::optional<ModeSetting>(*setting);
}

asio::awaitable<Result<ModeSetting>> change_mode(ControlStore& store, Mode mode, std::uint32_t sync_steps,
                                                 std::uint32_t default_steps) {
  for (;;) {
    ControlRequest get = get_request(control_keys::kRunMode);
    const ControlReply now = co_await ask(store, std::move(get));
    if (now.error) co_return *now.error;
    ModeSetting setting{mode, ModeEpoch(1), sync_steps};
    Revision revision;
    std::uint32_t steps_before = default_steps;
    if (!now.items.empty()) {
      const Result<ModeSetting> before = decode_mode(now.items.front().value);
      if (!before) co_return before.error();
      setting.mode_epoch = before->mode_epoch.next();
      steps_before = before->sync_steps;
      revision = now.items.front().revision;
    }
    if (setting.sync_steps == 0) setting.sync_steps = steps_before;
    ControlRequest swap = swap_request(control_keys::kRunMode, revision, encode_mode(setting));
    const ControlReply set = co_await ask(store, std::move(swap));
    if (!set.error) co_return setting;
    if (!lost_race(set)) co_return *set.error;
  }
}

}  // namespace godwit::app
