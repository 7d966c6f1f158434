#include "server/control/control_state.h"

#include <algorithm>
#include <utility>
#include <vector>

#include "shared/base/byte_stream.h"

namespace godwit {
namespace {

// Records of family kControl:
//   'k' key -> revision, ttl in nanoseconds (both u64), value (the rest)
//   'h'     -> revision of the store, count of keys (both u64): shows that no record vanished
constexpr std::string_view kHeadKey = "h";
constexpr std::string_view kItemsBegin = "k";
constexpr std::string_view kItemsEnd = "l";
constexpr std::size_t kItemOverheadBytes = 64;

Error corrupt(const std::string& what) { return {Errc::kCorrupt, "control store: " + what}; }

}  // namespace

Result<ControlState> ControlState::load(const StoreReader& reader, TimePoint now) {
  ControlState state;
  state.latest_ = now;
  Result<void> loaded;
  const auto load_one = [&](ByteView key, ByteView record) {
    loaded = state.load_item(std::string(text(key.subspan(1))), record, now);
    return loaded.has_value();
  };
  auto scanned = reader.scan(Family::kControl, view(kItemsBegin), view(kItemsEnd), load_one);
  if (!scanned) return scanned.error();
  if (!loaded) return loaded.error();
  auto head = reader.get(Family::kControl, view(kHeadKey));
  if (!head) return head.error();
  if (*head) {
    if (auto complete = state.check_complete(**head); !complete) return complete.error();
  } else if (!state.items_.empty()) {
    return corrupt("the head record is missing");
  }
  return state;
}

Result<void> ControlState::load_item(std::string key, ByteView record, TimePoint now) {
  ByteReader reader(record);
  Item item;
  reader.get(item.revision);
  item.ttl = Duration(reader.get<std::uint64_t>());
  if (reader.failed()) return corrupt("the record of " + key + " is too short");
  item.value = copy(reader.take(reader.remaining()));
  if (!keys_by_revision_.emplace(item.revision, key).second) {
    return corrupt(key + " and another key share revision " + to_string(item.revision));
  }
  if (item.ttl > Duration::zero() && !item.value.empty()) expiries_[key] = now + item.ttl;
  revision_ = std::max(revision_, item.revision);
  items_.emplace(std::move(key), std::move(item));
  return {};
}

Result<void> ControlState::check_complete(ByteView head) const {
  ByteReader reader(head);
  const auto revision = reader.get<Revision>();
  const auto count = reader.get<std::uint64_t>();
  if (!reader.finished()) return corrupt("the head record does not parse");
  if (revision != revision_ || count != items_.size()) {
    return corrupt("records are missing: " + std::to_string(items_.size()) +
                   " keys up to revision " + to_string(revision_) + ", recorded " +
                   std::to_string(count) + " up to " + to_string(revision));
  }
  return {};
}

ControlStep ControlState::handle(const ControlRequest& request, TimePoint now) {
  ControlStep step;
  step.batch = expire_leases(now);
  const Revision before = revision_;
  if (auto valid = validate(request); !valid) {
    step.reply.error = valid.error();
    step.reply.revision = revision_;
    return step;
  }
  switch (request.kind) {
    case ControlKind::kGet:
      step.reply = get(request);
      break;
    case ControlKind::kCompareAndSwap:
      step.reply = compare_and_swap(request, step.batch);
      break;
    case ControlKind::kLeaseKeepalive:
      step.reply = keep_alive(request, latest_, step.batch);
      break;
    case ControlKind::kList:
    case ControlKind::kWatch:
      step.reply = list(request);
      break;
  }
  if (before != revision_) seal(step.batch);
  return step;
}

Batch ControlState::expire_leases(TimePoint now) {
  latest_ = std::max(latest_, now);
  std::vector<std::string> expired;
  for (const auto& [key, expiry] : expiries_) {
    if (expiry <= latest_) expired.push_back(key);
  }
  Batch batch;
  for (const std::string& key : expired) {
    expiries_.erase(key);
    change(key, {.value = {}, .revision = {}, .ttl = items_.at(key).ttl}, batch);
  }
  if (!batch.empty()) seal(batch);
  return batch;
}

bool ControlState::has_change(const std::string& prefix, Revision since) const {
  return std::any_of(keys_by_revision_.upper_bound(since), keys_by_revision_.end(),
                     [&](const auto& change) { return change.second.starts_with(prefix); });
}

ControlReply ControlState::get(const ControlRequest& request) const {
  return reply_with(find(request.key));
}

ControlReply ControlState::list(const ControlRequest& request) const {
  if (request.since_revision > revision_) {
    return refuse(Errc::kForked,
                  "revision " + to_string(request.since_revision) + " is ahead of this store's " +
                      to_string(revision_) + ": it was replaced; read again from 0",
                  nullptr);
  }
  ControlReply reply;
  std::size_t reply_bytes = 0;
  for (auto at = keys_by_revision_.upper_bound(request.since_revision);
       at != keys_by_revision_.end(); ++at) {
    if (!at->second.starts_with(request.key)) continue;
    const Item& item = items_.at(at->second);
    reply_bytes += at->second.size() + item.value.size() + kItemOverheadBytes;
    if (reply_bytes > kControlReplyBytesMax) {
      reply.more = true;
      reply.revision = reply.items.back().revision;
      return reply;
    }
    reply.items.push_back({at->second, item.value, item.revision});
  }
  reply.revision = revision_;
  return reply;
}

ControlReply ControlState::compare_and_swap(const ControlRequest& request, Batch& batch) {
  const Items::value_type* current = find(request.key);
  const Revision at = current ? current->second.revision : Revision();
  if (current && current->second.ttl > Duration::zero()) {
    return refuse(Errc::kInvalid, request.key + " is a lease: it changes by keepalive only",
                  current);
  }
  if (at != request.expected_revision) {
    return refuse(Errc::kConflict,
                  request.key + " is at revision " + to_string(at) + ", expected " +
                      to_string(request.expected_revision),
                  current);
  }
  if (!current && items_.size() >= kControlKeysMax) {
    return refuse(Errc::kOverloaded, "limit of " + std::to_string(kControlKeysMax) + " keys",
                  nullptr);
  }
  return reply_with(
      &change(request.key, {.value = request.value, .revision = {}, .ttl = {}}, batch));
}

ControlReply ControlState::keep_alive(const ControlRequest& request, TimePoint now, Batch& batch) {
  const Items::value_type* current = find(request.key);
  if (current && current->second.ttl == Duration::zero()) {
    return refuse(Errc::kInvalid, request.key + " is a plain key, not a lease", current);
  }
  const bool held = current && !current->second.value.empty();
  if (held && current->second.value != request.value) {
    return refuse(Errc::kConflict,
                  request.key + " is held by " + std::string(text(current->second.value)), current);
  }
  if (request.ttl == Duration::zero()) {
    expiries_.erase(request.key);
    if (!held) return reply_with(current);
    return reply_with(
        &change(request.key, {.value = {}, .revision = {}, .ttl = current->second.ttl}, batch));
  }
  if (!current && items_.size() >= kControlKeysMax) {
    return refuse(Errc::kOverloaded, "limit of " + std::to_string(kControlKeysMax) + " keys",
                  nullptr);
  }
  expiries_[request.key] = now + request.ttl;
  if (held && current->second.ttl == request.ttl) return reply_with(current);
  return reply_with(
      &change(request.key, {.value = request.value, .revision = {}, .ttl = request.ttl}, batch));
}

ControlReply ControlState::reply_with(const Items::value_type* item) const {
  ControlReply reply;
  if (item) reply.items.push_back({item->first, item->second.value, item->second.revision});
  reply.revision = revision_;
  return reply;
}

ControlReply ControlState::refuse(Errc code, std::string why, const Items::value_type* item) const {
  ControlReply reply = reply_with(item);
  reply.error = Error{code, std::move(why)};
  return reply;
}

const ControlState::Items::value_type* ControlState::find(const std::string& key) const {
  const auto found = items_.find(key);
  return found == items_.end() ? nullptr : &*found;
}

const ControlState::Items::value_type& ControlState::change(const std::string& key, Item item,
                                                            Batch& batch) {
  revision_ = revision_.next();
  item.revision = revision_;
  ByteWriter record;
  record.put(item.revision);
  record.put(static_cast<std::uint64_t>(item.ttl.count()));
  record.put_raw(item.value);
  batch.put(Family::kControl, copy(view(std::string(kItemsBegin) + key)), record.take());
  if (const auto* old = find(key)) keys_by_revision_.erase(old->second.revision);
  keys_by_revision_.emplace(revision_, key);
  return *items_.insert_or_assign(key, std::move(item)).first;
}

void ControlState::seal(Batch& batch) const {
  ByteWriter head;
  head.put(revision_);
  head.put(static_cast<std::uint64_t>(items_.size()));
  batch.put(Family::kControl, copy(view(kHeadKey)), head.take());
  batch.sync = true;
}

}  // namespace godwit
