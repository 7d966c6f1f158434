#include "shared/wire/transfer.h"

#include <algorithm>
#include <cstring>
#include <limits>

#include "shared/base/byte_stream.h"
#include "shared/base/check.h"

namespace godwit::wire {
namespace {

constexpr std::uint16_t kFirstConversation = 16;

std::uint32_t chunk_count(std::uint32_t size, std::uint32_t chunk_bytes) {
  return size / chunk_bytes + (size % chunk_bytes == 0 ? 0 : 1);
}

SharedBytes empty_payload() {
  static const SharedBytes kEmpty = share({});
  return kEmpty;
}

Error malformed(std::string why) { return Error{Errc::kMalformed, "transfer: " + std::move(why)}; }

Error too_large(std::string_view what, std::uint64_t value, std::uint64_t limit) {
  return Error{Errc::kTooLarge, "transfer: " + std::string(what) + " of " + std::to_string(value) +
                                    ", at most " + std::to_string(limit) + " allowed"};
}

OutFrame opening_frame(const WireMessage& message, std::uint64_t transfer,
                       std::uint32_t chunk_bytes) {
  ByteWriter control;
  control.put(static_cast<std::uint32_t>(message.payloads.size()));
  if (!message.payloads.empty()) {
    control.put(transfer);
    control.put(chunk_bytes);
    for (const SharedBytes& payload : message.payloads) {
      GODWIT_REQUIRE(payload->size() <= std::numeric_limits<std::uint32_t>::max(),
                     "a payload below 4 GiB");
      control.put(static_cast<std::uint32_t>(payload->size()));
    }
  }
  control.put_raw(message.control);
  GODWIT_REQUIRE(control.bytes().size() <= kMaxControlBytes, "a control part fits its limit");
  return {message.kind, control.take(), nullptr, 0, 0};
}

OutFrame chunk_frame(std::uint64_t transfer, std::uint32_t payload, std::uint32_t chunk) {
  ByteWriter control;
  control.put(transfer);
  control.put(payload);
  control.put(chunk);
  return {MessageKind::kChunk, control.take(), nullptr, 0, 0};
}

}  // namespace

std::vector<OutFrame> split(WireMessage message, std::uint64_t transfer,
                            std::uint32_t chunk_bytes) {
  GODWIT_REQUIRE(message.payloads.size() <= kMaxPayloads, "at most kMaxPayloads payloads");
  GODWIT_REQUIRE(chunk_bytes > 0 && chunk_bytes <= kMaxChunkBytes,
                 "a chunk has 1 to kMaxChunkBytes");
  std::vector<OutFrame> frames;
  frames.push_back(opening_frame(message, transfer, chunk_bytes));
  for (std::uint32_t p = 0; p < message.payloads.size(); ++p) {
    const SharedBytes& payload = message.payloads[p];
    const std::uint32_t chunks =
        chunk_count(static_cast<std::uint32_t>(payload->size()), chunk_bytes);
    for (std::uint32_t chunk = 0; chunk < chunks; ++chunk) {
      OutFrame& frame = frames.emplace_back(chunk_frame(transfer, p, chunk));
      frame.owner = payload;
      frame.offset = std::size_t{chunk} * chunk_bytes;
      frame.bytes = std::min<std::size_t>(chunk_bytes, payload->size() - frame.offset);
    }
  }
  return frames;
}

Result<std::optional<WireMessage>> Assembler::accept(MessageKind kind, Bytes control,
                                                     SharedBytes payload) {
  if (kind == MessageKind::kChunk) return add_chunk(control, std::move(payload));
  if (static_cast<std::uint16_t>(kind) < kFirstConversation) {
    return malformed("kind " + std::to_string(static_cast<unsigned>(kind)) + " opens no message");
  }
  if (payload && !payload->empty()) return malformed("an opening frame has a payload");
  return open(kind, control);
}

Result<std::optional<WireMessage>> Assembler::open(MessageKind kind, const Bytes& control) {
  if (control.size() > kMaxControlBytes)
    return too_large("control part", control.size(), kMaxControlBytes);
  ByteReader in(control);
  const auto count = in.get<std::uint32_t>();
  if (in.failed()) return malformed("opening cut short");
  if (count == 0) {
    WireMessage message{kind, copy(in.take(in.remaining())), {}};
    return std::optional<WireMessage>(std::move(message));
  }
  if (count > kMaxPayloads) return too_large("number of payloads", count, kMaxPayloads);

  Transfer transfer;
  transfer.kind = kind;
  const auto id = in.get<std::uint64_t>();
  in.get(transfer.chunk_bytes);
  const ByteView sizes = in.take(count * sizeof(std::uint32_t));
  if (in.failed()) return malformed("opening cut short");
  if (transfer.chunk_bytes == 0 || transfer.chunk_bytes > kMaxChunkBytes) {
    return malformed("chunks of " + std::to_string(transfer.chunk_bytes) + " bytes");
  }
  transfer.cost = in.remaining() + count * kPayloadCost;
  ByteReader announced(sizes);
  for (std::uint32_t i = 0; i < count; ++i) transfer.cost += announced.get<std::uint32_t>();
  if (transfer.cost > limits_.max_message_bytes) {
    return too_large("message bytes", transfer.cost, limits_.max_message_bytes);
  }
  if (transfer.cost > limits_.max_open_bytes ||
      open_bytes_ > limits_.max_open_bytes - transfer.cost) {
    return too_large("bytes of open transfers", open_bytes_ + transfer.cost,
                     limits_.max_open_bytes);
  }
  if (open_.size() >= limits_.max_open_transfers) {
    return too_large("number of open transfers", open_.size() + 1, limits_.max_open_transfers);
  }
  if (open_.count(id) > 0) return malformed("number " + std::to_string(id) + " is already open");

  transfer.payloads.resize(count);
  announced = ByteReader(sizes);
  for (Payload& payload : transfer.payloads) {
    announced.get(payload.size);
    payload.missing_chunks = chunk_count(payload.size, transfer.chunk_bytes);
    if (payload.size == 0) payload.whole = empty_payload();
    if (payload.size > 0) ++transfer.missing_payloads;
  }
  transfer.control = copy(in.take(in.remaining()));
  open_bytes_ += transfer.cost;
  const auto opened = open_.emplace(id, std::move(transfer)).first;
  if (opened->second.missing_payloads > 0) return std::optional<WireMessage>();
  return finish(opened);
}

Result<std::optional<WireMessage>> Assembler::add_chunk(const Bytes& control, SharedBytes chunk) {
  ByteReader in(control);
  const auto id = in.get<std::uint64_t>();
  const auto payload = in.get<std::uint32_t>();
  const auto index = in.get<std::uint32_t>();
  if (!in.finished()) return malformed("chunk header has not 16 bytes");
  const auto found = open_.find(id);
  if (found == open_.end())
    return malformed("a chunk of number " + std::to_string(id) + ", which is not open");
  if (const auto placed = place(found->second, payload, index, std::move(chunk)); !placed)
    return placed.error();
  if (found->second.missing_payloads > 0) return std::optional<WireMessage>();
  return finish(found);
}

Result<void> Assembler::place(Transfer& transfer, std::uint32_t payload, std::uint32_t index,
                              SharedBytes chunk) {
  if (payload >= transfer.payloads.size())
    return malformed("payload " + std::to_string(payload) + " of none such");
  Payload& target = transfer.payloads[payload];
  const std::uint32_t chunks = chunk_count(target.size, transfer.chunk_bytes);
  if (index >= chunks)
    return malformed("chunk " + std::to_string(index) + " lies beyond its payload");
  const std::size_t offset = std::size_t{index} * transfer.chunk_bytes;
  const std::size_t expected = std::min<std::size_t>(transfer.chunk_bytes, target.size - offset);
  const std::size_t size = chunk ? chunk->size() : 0;
  if (size != expected) {
    return malformed("chunk of " + std::to_string(size) + " bytes where " +
                     std::to_string(expected) + " belong");
  }
  if (target.whole || (!target.arrived.empty() && target.arrived[index])) {
    return malformed("chunk " + std::to_string(index) + " came twice");
  }
  if (chunks == 1) {
    target.whole = std::move(chunk);
    held_bytes_ += size;
    --transfer.missing_payloads;
    return {};
  }
  if (target.arrived.empty()) {
    target.arrived.resize(chunks);
    target.buffer.resize(target.size);
    held_bytes_ += target.size;
  }
  std::memcpy(target.buffer.data() + offset, chunk->data(), size);
  target.arrived[index] = true;
  if (--target.missing_chunks > 0) return {};
  target.whole = share(std::move(target.buffer));
  --transfer.missing_payloads;
  return {};
}

std::optional<WireMessage> Assembler::finish(Transfers::iterator done) {
  Transfer transfer = std::move(done->second);
  open_.erase(done);
  open_bytes_ -= transfer.cost;
  WireMessage message{transfer.kind, std::move(transfer.control), {}};
  message.payloads.reserve(transfer.payloads.size());
  for (Payload& payload : transfer.payloads) {
    held_bytes_ -= payload.size;
    message.payloads.push_back(std::move(payload.whole));
  }
  return message;
}

}  // namespace godwit::wire
