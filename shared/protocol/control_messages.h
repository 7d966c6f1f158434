// What is asked of a control store and what it answers: plain values, the same in process and over
// the network.
//
// The store is a map from keys to items. Every change gets the next revision of the whole store
// (dense, from 1), and an item carries the revision of its last change. A key is either plain
// (changed by compare-and-swap) or a lease (changed by keepalives and by time), decided by its
// first change. Keys are never removed: a lease that nobody holds is an item with an empty value.
//
// Safety rests on compare-and-swap alone. Leases and watches are hints: they may come late, and a
// watch tells the latest state of a key, not every state that it went through.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "shared/base/bytes.h"
#include "shared/base/result.h"
#include "shared/base/strong_id.h"
#include "shared/base/time.h"

namespace godwit {

using Revision = StrongId<struct RevisionTag, std::uint64_t>;

inline constexpr std::size_t kControlKeyBytesMax = 256;
inline constexpr std::size_t kControlValueBytesMax = 1U << 20U;
inline constexpr std::size_t kControlHolderBytesMax = 256;
inline constexpr std::size_t kControlKeysMax = 65536;            // above it new keys are refused
inline constexpr std::size_t kControlReplyBytesMax = 4U << 20U;  // above it a reply says `more`
inline constexpr Duration kControlTtlMax = std::chrono::hours(1);
inline constexpr Duration kControlWaitMax = std::chrono::minutes(1);

// Numbers travel on the wire and are never reused.
enum class ControlKind : std::uint8_t {
  kGet = 1,             // the item of `key`, or no item
  kCompareAndSwap = 2,  // sets `key` to `value` if its revision is `expected_revision` (0: it must
                        // not exist)
  kList = 3,  // items whose key starts with `key` and whose revision is above `since_revision`
  kLeaseKeepalive = 4,  // takes or prolongs the lease `key` for the holder `value`; a ttl of zero
                        // gives it up
  kWatch = 5,  // as kList, but waits up to `wait` until there is an item
};

struct ControlRequest {
  ControlKind kind = ControlKind::kGet;
  std::string key;             // kList, kWatch: a prefix, may be empty
  Revision expected_revision;  // kCompareAndSwap
  Bytes value;                 // kCompareAndSwap; kLeaseKeepalive: the holder
  Duration ttl{};              // kLeaseKeepalive
  Revision since_revision;     // kList, kWatch
  Duration wait{};             // kWatch
};

struct ControlItem {
  std::string key;
  Bytes value;
  Revision revision;
  bool operator==(const ControlItem&) const = default;
};

// Errors: kConflict (lost the race, or another holds the lease: `items` is the current item, empty
// if there is none), kInvalid and kTooLarge (the request), kOverloaded (kControlKeysMax, or too
// many watches), kForked
// (`since_revision` is ahead of this store: it was replaced, read again from 0), kUnavailable,
// kClosed, kIo.
struct ControlReply {
  std::optional<Error> error;
  std::vector<ControlItem> items;  // kList, kWatch: in the order of revisions
  // Changes up to here are told: the `since_revision` of the next kList or kWatch.
  Revision revision;
  bool more = false;  // cut at kControlReplyBytesMax: ask again, from `revision`
  bool operator==(const ControlReply&) const = default;
};

// kInvalid or kTooLarge, naming the field and its limit.
Result<void> validate(const ControlRequest& request);

namespace control_keys {
inline constexpr std::string_view kRunManifest = "run/manifest";
inline constexpr std::string_view kRunMode = "run/mode";
inline constexpr std::string_view kRunCheckpoints = "run/checkpoints";
inline constexpr std::string_view kRunRestore = "run/restore";
inline constexpr std::string_view kShards = "shard/";
inline constexpr std::string_view kRegions = "region/";
std::string shard_leader(ShardId shard);    // shard/<id>/leader: leader, epoch and in-sync set, one item
std::string region_lease(RegionId region);  // region/<id>/lease
// The number in the middle of such a key; nullopt if the key is of another kind.
std::optional<std::uint32_t> parse_id(std::string_view key, std::string_view prefix, std::string_view suffix);
}  // namespace control_keys

}  // namespace godwit
