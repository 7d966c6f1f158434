// The control store as this process uses it: coroutines around ControlStore, and the records that the run
// keeps there. Wherever the store lives (here or behind a link), a request has a deadline.
#pragma once

#include <boost/asio/awaitable.hpp>

#include <functional>

#include "server/core/checkpoint.h"
#include "server/core/mode_setting.h"
#include "server/core/shard_record.h"
#include "server/control/control_store.h"
#include "shared/net/event.h"
#include "shared/protocol/manifest.h"

namespace godwit::app {

namespace asio = boost::asio;

// Longest wait for an answer, beyond what a watch asks for.
inline constexpr Duration kControlDeadline = seconds(3);

// Answers kTimedOut when the store is silent. Runs on the caller's executor.
asio::awaitable<ControlReply> ask(ControlStore& store, ControlRequest request);

// From what a key holds (empty: nothing yet) to what it shall hold. Called again when another was faster.
using Change = std::function<Result<Bytes>(ByteView held)>;
// By compare-and-swap, until it succeeds. Returns what the key holds then. Errors: those of `change`, and the store's.
asio::awaitable<Result<Bytes>> change_item(ControlStore& store, std::string_view key, Change change);

// The records of all shards; where there is none yet, `first` of that shard is named, at revision 0.
asio::awaitable<Result<std::vector<HeldRecord>>> read_records(ControlStore& store, std::vector<RegionId> first);
// Puts `next` in the place of the record that was read at `expected`. Errors: kConflict when it is another by now.
asio::awaitable<Result<HeldRecord>> swap_record(ControlStore& store, ShardId shard, ShardRecord next,
                                                Revision expected);
// Takes this region out of the shard's in-sync set, and returns the epoch that the shard is in then. Errors: kConflict:
// nobody else is in it.
asio::awaitable<Result<Epoch>> leave_set(ControlStore& store, ShardId shard, RegionId self);
// Lets another region lead, from the next moment in which it can. Errors: kConflict: it is not in sync, or away;
// kNotFound: nobody has led the shard yet.
asio::awaitable<Result<ShardRecord>> hand_over(ControlStore& store, ShardId shard, RegionId next);

// The run's manifest; nullopt when none is set.
asio::awaitable<Result<std::optional<Manifest>>> read_manifest(ControlStore& store);
// Sets it if none is set, and returns the one that is in force.
asio::awaitable<Result<Manifest>> offer_manifest(ControlStore& store, Manifest manifest);

// nullopt when no operator has set a mode yet.
asio::awaitable<Result<std::optional<ModeSetting>>> read_mode(ControlStore& store);
// Sets mode and steps (0: as they were) under the next mode_epoch, and returns them.
asio::awaitable<Result<ModeSetting>> change_mode(ControlStore& store, Mode mode, std::uint32_t sync_steps,
                                                 std::uint32_t default_steps);

// Errors: kConflict: kCheckpointsMax are kept.
asio::awaitable<Result<Checkpoint>> add_checkpoint(ControlStore& store, Checkpoint checkpoint, std::uint32_t keep);
// Errors: kNotFound: names those that there are.
asio::awaitable<Result<Checkpoint>> pin_checkpoint(ControlStore& store, std::uint64_t id, bool pinned);
// Errors: kNotFound, kConflict: it is pinned.
asio::awaitable<Result<Checkpoint>> remove_checkpoint(ControlStore& store, std::uint64_t id);
// Every shard goes on from this checkpoint as soon as its leader hears of it. Errors: kNotFound.
asio::awaitable<Result<RestoreSetting>> restore_checkpoint(ControlStore& store, std::uint64_t id);

}  // namespace godwit::app
