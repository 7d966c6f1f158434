// Distinct types for numbers that must not be mixed up. Construction and value() are explicit.
#pragma once

#include <compare>
#include <cstdint>
#include <functional>
#include <string>

namespace godwit {

template <class Tag, class Rep>
class StrongId {
 public:
  using rep = Rep;
  constexpr StrongId() = default;
  constexpr explicit StrongId(Rep value) : value_(value) {}
  constexpr Rep value() const { return value_; }
  constexpr auto operator<=>(const StrongId&) const = default;
  constexpr StrongId next() const { return StrongId(value_ + 1); }

 private:
  Rep value_ = 0;
};

using ShardId = StrongId<struct ShardTag, std::uint32_t>;
using RegionId = StrongId<struct RegionTag, std::uint32_t>;    // index into the cluster's region list
using WorkerId = StrongId<struct WorkerTag, std::uint64_t>;    // XXH3-64 of "region/name"
using Version = StrongId<struct VersionTag, std::uint64_t>;    // per shard, dense; 0: nothing committed
using Epoch = StrongId<struct EpochTag, std::uint64_t>;        // per shard, +1 at every start of a leader
using Round = StrongId<struct RoundTag, std::uint64_t>;        // 0: no round yet
using SequenceNo = StrongId<struct SequenceTag, std::uint64_t>;  // of pushes and contributions, from 1
using Incarnation = StrongId<struct IncarnationTag, std::uint64_t>;
using ModeEpoch = StrongId<struct ModeEpochTag, std::uint64_t>;
using RestoreEpoch = StrongId<struct RestoreEpochTag, std::uint64_t>;
using Hash = StrongId<struct HashTag, std::uint64_t>;

template <class Tag, class Rep>
std::string to_string(StrongId<Tag, Rep> id) {
  return std::to_string(id.value());
}

}  // namespace godwit

template <class Tag, class Rep>
struct std::hash<godwit::StrongId<Tag, Rep>> {
  std::size_t operator()(godwit::StrongId<Tag, Rep> id) const noexcept {
    return std::hash<Rep>{}(id.value());
  }
};
