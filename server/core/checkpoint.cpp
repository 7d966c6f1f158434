#include "server/core/checkpoint.h"

#include <algorithm>

#include "shared/base/byte_stream.h"
#include "shared/base/check.h"

namespace godwit {
namespace {

void put_pins(ByteWriter& out, const std::vector<records::Pin>& pins) {
  out.put_bytes(records::encode_pins(pins));
}

bool get_pins(ByteReader& in, std::vector<records::Pin>& pins) {
  Result<std::vector<records::Pin>> decoded = records::decode_pins(in.get_bytes());
  if (decoded) pins = std::move(*decoded);
  return decoded.has_value();
}

constexpr std::size_t kCheckpointBytes = 30;  // at least

}  // namespace

const Checkpoint* CheckpointList::find(std::uint64_t id) const {
  const auto found = std::find_if(items.begin(), items.end(),
                                  [id](const Checkpoint& item) { return item.id == id; });
  return found == items.end() ? nullptr : &*found;
}

const Checkpoint& CheckpointList::add(Checkpoint checkpoint, std::uint32_t keep) {
  checkpoint.id = ++last_id;
  items.push_back(std::move(checkpoint));
  const auto rotates = [](const Checkpoint& item) { return item.automatic && !item.pinned; };
  auto beyond =
      std::count_if(items.begin(), items.end(), rotates) - static_cast<std::ptrdiff_t>(keep);
  std::erase_if(items, [&](const Checkpoint& item) {
    return rotates(item) && item.id != last_id && beyond-- > 0;
  });
  return items.back();
}

std::optional<std::string> CheckpointSchedule::due(Version settled, Version last,
                                                   Duration since_last) const {
  if (settled <= last) return std::nullopt;
  if (versions > 0 && settled.value() - last.value() >= versions)
    return "every " + std::to_string(versions) + " versions";
  const auto period = std::chrono::duration_cast<seconds>(interval).count();
  if (period > 0 && since_last >= interval) return "every " + std::to_string(period) + " s";
  return std::nullopt;
}

Bytes CheckpointList::encode() const {
  ByteWriter out;
  out.put(last_id);
  out.put(static_cast<std::uint32_t>(items.size()));
  for (const Checkpoint& item : items) {
    GODWIT_REQUIRE(item.reason.size() <= kCheckpointReasonBytesMax, "a short reason");
    out.put(item.id);
    out.put(static_cast<std::uint64_t>(item.created_seconds));
    out.put_bytes(view(item.reason));
    out.put(static_cast<std::uint8_t>(item.automatic ? 1 : 0));
    out.put(static_cast<std::uint8_t>(item.pinned ? 1 : 0));
    put_pins(out, item.shards);
  }
  return out.take();
}

Result<CheckpointList> CheckpointList::decode(ByteView bytes) {
  ByteReader in(bytes);
  CheckpointList list;
  in.get(list.last_id);
  bool valid = true;
  for (auto count = in.get_count(kCheckpointBytes); count > 0 && valid; --count) {
    Checkpoint& item = list.items.emplace_back();
    in.get(item.id);
    item.created_seconds = static_cast<std::int64_t>(in.get<std::uint64_t>());
    const ByteView reason = in.get_bytes();
    item.reason.assign(reinterpret_cast<const char*>(reason.data()), reason.size());
    item.automatic = in.get<std::uint8_t>() != 0;
    item.pinned = in.get<std::uint8_t>() != 0;
    valid = item.reason.size() <= kCheckpointReasonBytesMax && get_pins(in, item.shards);
  }
  if (!in.finished() || !valid) return Error{Errc::kCorrupt, "control store: run/checkpoints"};
  return list;
}

Bytes RestoreSetting::encode() const {
  ByteWriter out;
  out.put(epoch);
  out.put(checkpoint);
  put_pins(out, shards);
  return out.take();
}

Result<RestoreSetting> RestoreSetting::decode(ByteView bytes) {
  ByteReader in(bytes);
  RestoreSetting setting;
  in.get(setting.epoch);
  in.get(setting.checkpoint);
  const bool valid = get_pins(in, setting.shards);
  if (!in.finished() || !valid) return Error{Errc::kCorrupt, "control store: run/restore"};
  return setting;
}

}  // namespace godwit
