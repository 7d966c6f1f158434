#include "shared/wire/payload_list.h"

#include <limits>

#include "shared/protocol/field_reader.h"

namespace godwit::wire {
namespace {

constexpr std::uint8_t kTableFormat = 1;
constexpr std::size_t kNamedPushBytes = 33;

SharedBytes empty_payload() {
  static const SharedBytes kEmpty = share({});
  return kEmpty;
}

Bytes encode_producers(const std::vector<Bytes>& producers) {
  ByteWriter out;
  out.put(kTableFormat);
  out.put(static_cast<std::uint32_t>(producers.size()));
  for (const Bytes& producer : producers) out.put_bytes(producer);
  return out.take();
}

Result<std::vector<Bytes>> decode_producers(ByteView bytes) {
  FieldReader in("producer table", kTableFormat, bytes);
  std::vector<Bytes> producers;
  const std::uint32_t count = in.get_count(sizeof(std::uint32_t));
  for (std::uint32_t i = 0; i < count && in.ok(); ++i) {
    producers.push_back(copy(in.in().get_bytes()));
  }
  if (const auto read = in.finish(); !read) return read.error();
  return producers;
}

Bytes encode_pushes(const std::vector<NamedPush>& pushes) {
  ByteWriter out;
  out.put(kTableFormat);
  out.put(static_cast<std::uint32_t>(pushes.size()));
  for (const NamedPush& push : pushes) {
    put(out, push.id);
    out.put(push.version);
    out.put(push.verdict);
  }
  return out.take();
}

Result<std::vector<NamedPush>> decode_pushes(ByteView bytes) {
  FieldReader in("table of named pushes", kTableFormat, bytes);
  std::vector<NamedPush> pushes;
  const std::uint32_t count = in.get_count(kNamedPushBytes);
  pushes.reserve(count);
  for (std::uint32_t i = 0; i < count && in.ok(); ++i) {
    NamedPush& push = pushes.emplace_back();
    get(in.in(), push.id);
    in.get(push.version);
    in.get_enum("verdict", push.verdict, Verdict::kApplied, Verdict::kDiscarded);
  }
  if (const auto read = in.finish(); !read) return read.error();
  return pushes;
}

}  // namespace

PayloadList::PayloadList(std::vector<SharedBytes> payloads) : payloads_(std::move(payloads)) {
  for (SharedBytes& payload : payloads_) {
    if (!payload) payload = empty_payload();
  }
}

SharedBytes PayloadList::take() {
  if (remaining() == 0) {
    missing_ = true;
    return empty_payload();
  }
  return std::move(payloads_[next_++]);
}

std::vector<SharedBytes> PayloadList::take(std::size_t count) {
  if (count > remaining()) {
    missing_ = true;
    return {};
  }
  const auto first = payloads_.begin() + static_cast<std::ptrdiff_t>(next_);
  next_ += count;
  return {std::make_move_iterator(first),
          std::make_move_iterator(first + static_cast<std::ptrdiff_t>(count))};
}

Result<void> PayloadList::finish() const {
  if (missing_) return Error{Errc::kMalformed, "payloads are missing"};
  if (remaining() > 0) {
    return Error{Errc::kMalformed, std::to_string(remaining()) + " payloads left over"};
  }
  return {};
}

void put_entry(std::vector<SharedBytes>& out, const Entry& entry) {
  GODWIT_REQUIRE(entry.payloads.size() == entry.header.blocks.size(), "one payload a block");
  GODWIT_REQUIRE(entry.encoded != nullptr, "an entry travels with the bytes that were hashed");
  out.push_back(entry.encoded);
  out.insert(out.end(), entry.payloads.begin(), entry.payloads.end());
}

Result<Entry> take_entry(PayloadList& payloads) {
  Entry entry;
  entry.encoded = payloads.take();
  auto header = EntryHeader::decode(*entry.encoded);
  if (!header) return header.error();
  entry.header = std::move(*header);
  entry.hash = entry_hash(*entry.encoded);
  entry.payloads = payloads.take(entry.header.blocks.size());
  for (std::size_t i = 0; i < entry.payloads.size(); ++i) {
    if (entry.payloads[i]->size() != entry.header.blocks[i].bytes) {
      return Error{Errc::kMalformed,
                   "block " + std::to_string(i) + " has not the size that its entry states"};
    }
  }
  return entry;
}

void put_snapshot(std::vector<SharedBytes>& out, const Snapshot& snapshot) {
  GODWIT_REQUIRE(snapshot.entry != nullptr, "a snapshot travels with its entry");
  out.push_back(snapshot.entry);
  out.push_back(share(encode_producers(snapshot.producers)));
  out.push_back(share(encode_pushes(snapshot.pushes)));
  out.insert(out.end(), snapshot.blocks.begin(), snapshot.blocks.end());
}

Result<Snapshot> take_snapshot(PayloadList& payloads) {
  Snapshot snapshot;
  snapshot.entry = payloads.take();
  auto producers = decode_producers(*payloads.take());
  if (!producers) return producers.error();
  snapshot.producers = std::move(*producers);
  auto pushes = decode_pushes(*payloads.take());
  if (!pushes) return pushes.error();
  snapshot.pushes = std::move(*pushes);
  snapshot.blocks = payloads.take_rest();
  return snapshot;
}

}  // namespace godwit::wire
