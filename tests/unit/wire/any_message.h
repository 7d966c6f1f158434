// Random messages of every kind, made field by field: a field added to a message is covered without
// a line here.
#pragma once

#include <rapidcheck.h>

#include <boost/pfr.hpp>
#include <optional>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "shared/protocol/messages.h"
#include "tests/unit/protocol/generators.h"
#include "tests/unit/wire/same_message.h"

namespace godwit::generate {

inline SharedBytes payload(std::size_t below = 40) {
  Bytes bytes(size(below));
  for (std::byte& byte : bytes) byte = static_cast<std::byte>(size(256));
  return share(std::move(bytes));
}

inline Entry whole_entry() {
  Entry entry;
  entry.header = generate::entry();
  for (BlockUpdate& block : entry.header.blocks) {
    entry.payloads.push_back(payload());
    block.bytes = static_cast<std::uint32_t>(entry.payloads.back()->size());
  }
  entry.encoded = share(entry.header.encode());
  entry.hash = entry_hash(*entry.encoded);
  return entry;
}

// One overload a type of field; aggregates are filled field by field.
template <class Tag, class Rep>
void fill(StrongId<Tag, Rep>& value) {
  value = id<StrongId<Tag, Rep>>();
}
inline void fill(std::uint32_t& value) { value = *rc::gen::arbitrary<std::uint32_t>(); }
inline void fill(bool& value) { value = *rc::gen::arbitrary<bool>(); }
inline void fill(float& value) { value = static_cast<float>(amount()); }
inline void fill(double& value) { value = amount(); }
inline void fill(std::string& value) { value = *rc::gen::arbitrary<std::string>(); }
inline void fill(SharedBytes& value) { value = payload(); }
inline void fill(Bytes& value) { value = *payload(); }
inline void fill(Manifest& value) { value = manifest(); }
inline void fill(PushHeader& value) { value = push(); }
inline void fill(Entry& value) { value = whole_entry(); }
inline void fill(Verdict& value) { value = member_of(Verdict::kApplied, Verdict::kDiscarded); }
inline void fill(PushOutcome& value) {
  value = member_of(PushOutcome::kAcknowledged, PushOutcome::kRefused);
}
inline void fill(PullOutcome& value) {
  value = member_of(PullOutcome::kNotModified, PullOutcome::kSnapshot);
}
inline void fill(OfferOutcome& value) {
  value = member_of(OfferOutcome::kAccepted, OfferOutcome::kWrongEpoch);
}
inline void fill(Errc& value) {
  value = *rc::gen::element(Errc::kOverloaded, Errc::kInvalid, Errc::kInternal);
}
inline void fill(Leave&) {}
template <class T>
requires std::is_aggregate_v<T>
void fill(T& value);
template <class T>
void fill(std::vector<T>& values) {
  values.resize(size(4));
  for (T& value : values) fill(value);
}
template <class T>
void fill(std::optional<T>& value) {
  if (*rc::gen::arbitrary<bool>()) fill(value.emplace());
}
inline void fill(PullReply& reply) {
  fill(reply.shard);
  fill(reply.outcome);
  fill(reply.named);
  if (reply.outcome == PullOutcome::kEntries) fill(reply.entries);
  if (reply.outcome == PullOutcome::kSnapshot) fill(reply.snapshot.emplace());
}
template <class T>
requires std::is_aggregate_v<T>
void fill(T& value) {
  boost::pfr::for_each_field(value, [](auto& field) { fill(field); });
}

template <std::size_t I>
Message message_at() {
  std::variant_alternative_t<I, Message> value;
  fill(value);
  return Message(std::move(value));
}

// A message of each kind.
inline std::vector<Message> every_message() {
  return []<std::size_t... I>(std::index_sequence<I...>) {
    return std::vector<Message>{message_at<I>()...};
  }
  (std::make_index_sequence<std::variant_size_v<Message>>());
}

inline Message any_message() {
  std::vector<Message> all = every_message();
  return all[size(all.size())];
}

}  // namespace godwit::generate
