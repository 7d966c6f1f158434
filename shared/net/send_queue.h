// SendQueue: frames waiting to be written, cut into pieces that suit TLS. Pure; the owner locks.
//
// Small parts (headers, control, short slices) are gathered into one buffer, so that they share TLS
// records; long slices are handed out in place, without a copy. A frame's bytes count against the
// limit until its last piece has been written.
#pragma once

#include <deque>
#include <functional>
#include <optional>

#include "shared/net/frame.h"

namespace godwit::net {

// Called once, when the last byte of a frame has been given to the socket; dropped uncalled if the
// connection closes first. Runs on the connection's executor; must not block.
using OnWritten = std::function<void()>;

// Largest piece, in bytes: one TLS write. Larger ones keep a thread from its other connections.
inline constexpr std::size_t kMaxPieceBytes = 256u << 10;
// A slice with at least this many bytes left is sent in place; shorter ones are copied.
inline constexpr std::size_t kSendInPlaceBytes = 32u << 10;
// What a TLS record holds; gathered pieces in front of a long slice are filled up to this.
inline constexpr std::size_t kRecordBytes = 16u << 10;

// Move-only in spirit: `bytes` looks into `gathered` or `owner`.
struct Piece {
  ByteView bytes;
  Bytes gathered;
  SharedBytes owner;
  std::vector<OnWritten> completed;  // of the frames that end in this piece
  std::uint64_t frames_ended = 0;
};

enum class Urgency { kNormal, kAheadOfAll };

class SendQueue {
 public:
  // limit_bytes bounds what waits here and in pieces not yet written; kOverloaded beyond it. An
  // empty queue takes any frame, so one large frame never waits for ever.
  explicit SendQueue(std::size_t limit_bytes) : limit_bytes_(limit_bytes) {}

  // kAheadOfAll: before every frame not yet begun, and whatever the limit says. REQUIRES: the
  // caller keeps such frames few and small (heartbeats, GOODBYE).
  Result<void> push(Frame frame, OnWritten on_written, Urgency urgency = Urgency::kNormal);
  // Up to max_bytes of the stream, at most kMaxPieceBytes. Empty when nothing waits.
  std::optional<Piece> next(std::size_t max_bytes = kMaxPieceBytes);
  // A piece has left: its bytes no longer count.
  void written(const Piece& piece);
  // Forgets every frame not yet begun.
  void drop_waiting();

  bool has_room(std::size_t frame_bytes) const;
  bool empty() const { return waiting_.empty(); }
  std::size_t bytes() const { return bytes_; }

 private:
  struct Waiting {
    Frame frame;
    OnWritten on_written;
    EncodedHeader header;
    std::size_t part = 0;    // 0 header, 1 control, 2.. payload slices
    std::size_t offset = 0;  // within the part
    ByteView rest() const;   // of the part
    bool begun() const { return part != 0 || offset != 0; }
  };

  void gather(Piece& piece, std::size_t max_bytes);
  // Moves the front frame on by `count` bytes; retires it, and parts without bytes, when done.
  void advance(Piece& piece, std::size_t count);

  std::size_t limit_bytes_;
  std::size_t bytes_ = 0;
  std::deque<Waiting> waiting_;
};

}  // namespace godwit::net
