#include "shared/net/send_queue.h"

#include <algorithm>

namespace godwit::net {

ByteView SendQueue::Waiting::rest() const {
  ByteView whole;
  if (part == 0) {
    whole = header;
  } else if (part == 1) {
    whole = frame.control;
  } else {
    whole = frame.payload[part - 2].bytes;
  }
  return whole.subspan(offset);
}

bool SendQueue::has_room(std::size_t frame_bytes) const {
  return bytes_ == 0 || (bytes_ < limit_bytes_ && frame_bytes <= limit_bytes_ - bytes_);
}

Result<void> SendQueue::push(Frame frame, OnWritten on_written, Urgency urgency) {
  const std::size_t frame_bytes = frame.wire_bytes();
  if (urgency == Urgency::kNormal && !has_room(frame_bytes)) {
    return Error{Errc::kOverloaded, "send queue: " + std::to_string(bytes_) + " of " +
                                        std::to_string(limit_bytes_) + " bytes wait; retry later"};
  }
  bytes_ += frame_bytes;
  const EncodedHeader header = encode_header(frame.header());
  auto place = waiting_.end();
  if (urgency == Urgency::kAheadOfAll) {
    place = waiting_.begin();
    if (place != waiting_.end() && place->begun()) ++place;
  }
  waiting_.insert(place, Waiting{std::move(frame), std::move(on_written), header});
  return {};
}

std::optional<Piece> SendQueue::next(std::size_t max_bytes) {
  if (waiting_.empty()) return std::nullopt;
  max_bytes = std::min(max_bytes, kMaxPieceBytes);
  Piece piece;
  const Waiting& front = waiting_.front();
  const ByteView rest = front.rest();
  if (front.part >= 2 && rest.size() >= kSendInPlaceBytes) {
    piece.bytes = rest.first(std::min(max_bytes, rest.size()));
    piece.owner = front.frame.payload[front.part - 2].owner;
    advance(piece, piece.bytes.size());
  } else {
    gather(piece, max_bytes);
    piece.bytes = piece.gathered;
  }
  return piece;
}

void SendQueue::gather(Piece& piece, std::size_t max_bytes) {
  while (!waiting_.empty() && piece.gathered.size() < max_bytes) {
    const Waiting& front = waiting_.front();
    const ByteView rest = front.rest();
    std::size_t count = std::min(rest.size(), max_bytes - piece.gathered.size());
    const bool in_place_next = front.part >= 2 && rest.size() >= kSendInPlaceBytes;
    if (in_place_next) {  // only fill the record that is open
      const std::size_t open_record = piece.gathered.size() % kRecordBytes;
      if (open_record == 0) return;
      count = std::min(count, kRecordBytes - open_record);
    }
    piece.gathered.insert(piece.gathered.end(), rest.begin(), rest.begin() + count);
    advance(piece, count);
    if (in_place_next) return;
  }
}

void SendQueue::advance(Piece& piece, std::size_t count) {
  Waiting& front = waiting_.front();
  front.offset += count;
  while (front.rest().empty()) {
    ++front.part;
    front.offset = 0;
    if (front.part < front.frame.payload.size() + 2) continue;
    ++piece.frames_ended;
    if (front.on_written) piece.completed.push_back(std::move(front.on_written));
    waiting_.pop_front();
    return;
  }
}

void SendQueue::written(const Piece& piece) {
  GODWIT_CHECK(bytes_ >= piece.bytes.size(), "more bytes written than were queued");
  bytes_ -= piece.bytes.size();
}

void SendQueue::drop_waiting() {
  const bool keep_front = !waiting_.empty() && waiting_.front().begun();
  const auto first = waiting_.begin() + (keep_front ? 1 : 0);
  for (auto it = first; it != waiting_.end(); ++it) bytes_ -= it->frame.wire_bytes();
  waiting_.erase(first, waiting_.end());
}

}  // namespace godwit::net
