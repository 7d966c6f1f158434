#include "shared/net/connection.h"

#include <netinet/tcp.h>

#include <algorithm>
#include <atomic>
#include <boost/asio/post.hpp>
#include <deque>
#include <mutex>

#include "shared/base/byte_stream.h"
#include "shared/base/log.h"
#include "shared/net/event.h"
#include "shared/net/frame_reader.h"
#include "shared/net/task_group.h"
#include "shared/net/tls_stream.h"

namespace godwit::net {
namespace {

// Bytes written in one go before other connections of this thread get a turn.
constexpr std::size_t kBurstBytes = 1u << 20;

Frame heartbeat(MessageKind kind, std::uint64_t number) {
  ByteWriter writer;
  writer.put(number);
  Frame frame;
  frame.kind = kind;
  frame.control = writer.take();
  return frame;
}

enum class Farewell { kSayGoodbye, kSilent };

}  // namespace

class Connection::Impl {
 public:
  Impl(std::unique_ptr<TlsStream> stream, Identity peer, ConnectionOptions options)
      : options_(std::move(options)),
        peer_(std::move(peer)),
        remote_address_(stream->remote_address()),
        executor_(stream->executor()),
        stream_(std::move(stream)),
        queue_(options_.send_queue_bytes),
        work_(executor_),
        room_(executor_),
        ending_(executor_) {}

  // Each holds `self` until it returns.
  static asio::awaitable<void> write_loop(std::shared_ptr<Impl> self);
  static asio::awaitable<void> shape_loop(std::shared_ptr<Impl> self);
  static asio::awaitable<void> heartbeat_loop(std::shared_ptr<Impl> self);

  asio::awaitable<Result<Frame>> read(TimePoint deadline);
  asio::awaitable<Result<void>> send(Frame frame, TimePoint deadline, OnWritten on_written);
  Result<void> try_send(const std::shared_ptr<Impl>& self, Frame& frame, OnWritten& on_written);
  void end(Error reason, Farewell farewell);
  bool ended() const;
  std::size_t queued_bytes() const;
  ConnectionCounters counters() const;

  const ConnectionOptions options_;
  const Identity peer_;
  const std::string remote_address_;
  const asio::any_io_executor executor_;
  std::atomic<Duration> round_trip_time_ = Duration(0);

 private:
  struct InLink {
    TimePoint arrives;
    Piece piece;
  };

  // The next piece to write; an error when the writer should stop.
  asio::awaitable<Result<Piece>> next_piece();
  asio::awaitable<Result<Piece>> piece_from_queue(std::size_t max_bytes);
  asio::awaitable<Result<Piece>> piece_from_link();
  asio::awaitable<Result<void>> write(ByteView bytes);
  void write_what_goes_now();
  void written(Piece& piece);
  asio::awaitable<Result<void>> wait_for_input(TimePoint deadline);
  // True: a frame of the connection's own, dealt with.
  bool handle(const Frame& frame);
  void push_urgent(Frame frame, OnWritten on_written);

  // Strand only, but for what the mutex guards.
  std::unique_ptr<TlsStream> stream_;
  FrameReader reader_;
  TimePoint heard_at_ = now();
  std::deque<InLink> link_;   // pieces inside the shaped link, in order
  bool link_closed_ = false;  // shape_loop has ended
  std::optional<TimePoint> ping_sent_at_;
  std::uint64_t ping_number_ = 0;
  bool pong_waits_ = false;
  bool broken_ = false;  // nothing can be written any more
  TimePoint closing_deadline_ = kNoDeadline;

  mutable std::mutex mutex_;  // guards queue_, end_ (written on the strand), writer_idle_
  SendQueue queue_;
  std::optional<Error> end_;
  bool writer_idle_ = false;
  Event work_;    // something to write, or the end
  Event room_;    // room in the queue, or the end
  Event ending_;  // the end

  std::atomic<std::uint64_t> bytes_sent_ = 0;
  std::atomic<std::uint64_t> bytes_received_ = 0;
  std::atomic<std::uint64_t> frames_sent_ = 0;
  std::atomic<std::uint64_t> frames_received_ = 0;
};

// ---- the end ----

void Connection::Impl::end(Error reason, Farewell farewell) {
  if (end_) return;
  closing_deadline_ = now() + kCloseDeadline;
  broken_ = farewell == Farewell::kSilent;
  {
    const std::lock_guard lock(mutex_);
    queue_.drop_waiting();
    if (!broken_) {
      const Result<void> pushed = queue_.push(make_goodbye(reason), nullptr, Urgency::kAheadOfAll);
      GODWIT_CHECK(pushed.has_value(), "urgent frames are always taken");
    }
    end_ = std::move(reason);
  }
  work_.notify();
  room_.notify();
  ending_.notify();
  stream_->interrupt();
}

bool Connection::Impl::ended() const {
  const std::lock_guard lock(mutex_);
  return end_.has_value();
}

// ---- sending ----

Result<void> Connection::Impl::try_send(const std::shared_ptr<Impl>& self, Frame& frame,
                                        OnWritten& on_written) {
  const std::lock_guard lock(mutex_);
  if (end_) return *end_;
  if (!queue_.has_room(frame.wire_bytes())) {
    return Error{Errc::kOverloaded, "send queue of " + remote_address_ +
                                        " is full: " + std::to_string(queue_.bytes()) + " of " +
                                        std::to_string(options_.send_queue_bytes) + " bytes"};
  }
  const Result<void> pushed = queue_.push(std::move(frame), std::move(on_written));
  GODWIT_CHECK(pushed.has_value(), "there was room");
  if (writer_idle_) {
    writer_idle_ = false;
    asio::post(executor_, [self] { self->work_.notify(); });
  }
  return {};
}

void Connection::Impl::push_urgent(Frame frame, OnWritten on_written) {
  {
    const std::lock_guard lock(mutex_);
    if (end_) return;
    const Result<void> pushed =
        queue_.push(std::move(frame), std::move(on_written), Urgency::kAheadOfAll);
    GODWIT_CHECK(pushed.has_value(), "urgent frames are always taken");
    writer_idle_ = false;
  }
  work_.notify();
}

asio::awaitable<Result<Piece>> Connection::Impl::piece_from_queue(std::size_t max_bytes) {
  while (true) {
    if (broken_) co_return *end_;
    {
      const std::lock_guard lock(mutex_);
      std::optional<Piece> piece = queue_.next(max_bytes);
      if (piece) co_return std::move(*piece);
      if (end_) co_return *end_;
      writer_idle_ = true;
    }
    const Result<void> woken = co_await work_.wait_until(kNoDeadline);
    if (!woken) co_return woken.error();
  }
}

asio::awaitable<Result<Piece>> Connection::Impl::piece_from_link() {
  while (true) {
    if (broken_) co_return *end_;
    if (link_.empty() && link_closed_) co_return Error{Errc::kClosed, "nothing more to send"};
    const TimePoint arrives = link_.empty() ? kNoDeadline : link_.front().arrives;
    if (arrives <= now()) {
      Piece piece = std::move(link_.front().piece);
      link_.pop_front();
      co_return std::move(piece);
    }
    const Result<void> woken = co_await work_.wait_until(std::min(arrives, closing_deadline_));
    if (!woken && woken.error().code == Errc::kClosed) co_return woken.error();
    if (now() >= closing_deadline_) co_return *end_;
  }
}

asio::awaitable<Result<Piece>> Connection::Impl::next_piece() {
  return options_.shaper ? piece_from_link() : piece_from_queue(kMaxPieceBytes);
}

asio::awaitable<Result<void>> Connection::Impl::write(ByteView bytes) {
  while (true) {
    if (broken_) co_return *end_;
    const Result<bool> done = stream_->write(bytes);
    bytes_sent_ = stream_->bytes_sent();
    if (!done) co_return done.error();
    if (*done) co_return Result<void>();
    const TimePoint deadline = std::min(closing_deadline_, now() + options_.stall_deadline);
    const Result<void> ready = co_await stream_->wait_for_write(deadline);
    if (ready) continue;
    if (ready.error().code != Errc::kTimedOut) co_return ready.error();
    co_return Error{Errc::kTimedOut, "the peer took no byte until the deadline; it does not read"};
  }
}

void Connection::Impl::written(Piece& piece) {
  frames_sent_ += piece.frames_ended;
  {
    const std::lock_guard lock(mutex_);
    queue_.written(piece);
  }
  for (OnWritten& on_written : piece.completed) on_written();
  room_.notify();
}

// A stop leaves no time to wait, but GOODBYE is short and sockets have buffers.
void Connection::Impl::write_what_goes_now() {
  while (true) {
    std::optional<Piece> piece;
    if (!link_.empty()) {
      piece = std::move(link_.front().piece);
      link_.pop_front();
    } else {
      const std::lock_guard lock(mutex_);
      piece = queue_.next();
    }
    if (!piece) return;
    const Result<bool> done = stream_->write(piece->bytes);
    if (!done || !*done) return;
  }
}

asio::awaitable<void> Connection::Impl::write_loop(std::shared_ptr<Impl> self) {
  std::size_t burst_bytes = 0;
  bool stopped = false;  // by the task group: no waiting from here on
  while (true) {
    Result<Piece> piece = co_await self->next_piece();
    if (!piece) {
      stopped = !self->end_;
      break;
    }
    const Result<void> written = co_await self->write(piece->bytes);
    if (!written) {
      self->end(written.error(), Farewell::kSilent);
      break;
    }
    self->written(*piece);
    burst_bytes += piece->bytes.size();
    if (burst_bytes < kBurstBytes) continue;
    burst_bytes = 0;
    const Result<void> turn = co_await yield();
    stopped = !turn;
    if (stopped) break;
  }
  if (stopped) {
    Error reason{Errc::kClosed, "stopping"};
    self->end(std::move(reason), Farewell::kSayGoodbye);
    self->write_what_goes_now();
  }
  co_await self->stream_->finish(self->closing_deadline_);
}

asio::awaitable<void> Connection::Impl::shape_loop(std::shared_ptr<Impl> self) {
  Shaper& shaper = *self->options_.shaper;
  while (true) {
    Result<Piece> piece = co_await self->piece_from_queue(kShapedPieceBytes);
    if (!piece) break;
    const TimePoint entered = shaper.reserve(piece->bytes.size(), now());
    if (entered > now()) {
      const Result<void> slept = co_await sleep_until(entered);
      if (!slept) break;
    }
    self->link_.push_back(InLink{entered + shaper.one_way_delay(), std::move(*piece)});
    self->work_.notify();
  }
  self->link_closed_ = true;
  self->work_.notify();
}

asio::awaitable<Result<void>> Connection::Impl::send(Frame frame, TimePoint deadline,
                                                     OnWritten on_written) {
  while (true) {
    {
      const std::lock_guard lock(mutex_);
      if (end_) co_return *end_;
      if (queue_.has_room(frame.wire_bytes())) {
        const Result<void> pushed = queue_.push(std::move(frame), std::move(on_written));
        GODWIT_CHECK(pushed.has_value(), "there was room");
        writer_idle_ = false;
        break;
      }
    }
    const Result<void> woken = co_await room_.wait_until(deadline);
    if (!woken) co_return woken.error();
  }
  work_.notify();
  co_return Result<void>();
}

// ---- receiving ----

asio::awaitable<Result<Frame>> Connection::Impl::read(TimePoint deadline) {
  heard_at_ = now();  // silence while nobody listened proves nothing
  while (true) {
    if (end_) co_return *end_;
    const Result<FrameReader::Progress> progress = reader_.advance(*stream_);
    const std::uint64_t received = stream_->bytes_received();
    if (received != bytes_received_) heard_at_ = now();
    bytes_received_ = received;
    if (!progress) {
      const bool gone = progress.error().code == Errc::kClosed;
      end(progress.error(), gone ? Farewell::kSilent : Farewell::kSayGoodbye);
      continue;
    }
    if (*progress == FrameReader::Progress::kComplete) {
      ++frames_received_;
      Frame frame = reader_.take();
      if (!handle(frame)) co_return std::move(frame);
      continue;
    }
    Result<void> woken;
    if (*progress == FrameReader::Progress::kBurst) {
      woken = co_await yield();
    } else {
      woken = co_await wait_for_input(deadline);
    }
    if (!woken) co_return woken.error();
  }
}

asio::awaitable<Result<void>> Connection::Impl::wait_for_input(TimePoint deadline) {
  const TimePoint silent_at = heard_at_ + options_.silence_deadline;
  const Result<void> ready = co_await stream_->wait_for_read(std::min(deadline, silent_at));
  if (ready || end_) co_return Result<void>();
  if (ready.error().code != Errc::kTimedOut || now() < silent_at) co_return ready.error();
  const auto silence = std::chrono::duration_cast<milliseconds>(options_.silence_deadline).count();
  Error reason{Errc::kTimedOut, "nothing arrived for " + std::to_string(silence) +
                                    " ms, not even a heartbeat: peer or link is down"};
  end(std::move(reason), Farewell::kSayGoodbye);
  co_return Result<void>();
}

bool Connection::Impl::handle(const Frame& frame) {
  if (frame.kind == MessageKind::kGoodbye) {
    end(parse_goodbye(frame.control), Farewell::kSilent);
    return true;
  }
  if (frame.kind != MessageKind::kPing && frame.kind != MessageKind::kPong) return false;
  ByteReader reader(frame.control);
  const auto number = reader.get<std::uint64_t>();
  if (!reader.finished() || !frame.payload.empty()) {
    end(Error{Errc::kMalformed, "heartbeat that does not parse"}, Farewell::kSayGoodbye);
  } else if (frame.kind == MessageKind::kPong) {
    if (!ping_sent_at_ || number != ping_number_) return true;  // not the one that we time
    round_trip_time_ = now() - *ping_sent_at_;
    ping_sent_at_.reset();
  } else if (!pong_waits_) {  // else the peer pings faster than the stream takes answers
    pong_waits_ = true;
    push_urgent(heartbeat(MessageKind::kPong, number), [this] { pong_waits_ = false; });
  }
  return true;
}

asio::awaitable<void> Connection::Impl::heartbeat_loop(std::shared_ptr<Impl> self) {
  TimePoint next = now() + self->options_.heartbeat_interval;
  while (!self->end_) {
    const Result<void> woken = co_await self->ending_.wait_until(next);
    if (!woken && woken.error().code == Errc::kClosed) break;
    if (woken || now() < next) continue;
    next = now() + self->options_.heartbeat_interval;
    if (self->ping_sent_at_) continue;  // one at a time
    self->ping_sent_at_ = now();
    self->push_urgent(heartbeat(MessageKind::kPing, ++self->ping_number_), nullptr);
  }
}

// ---- the handle ----

std::size_t Connection::Impl::queued_bytes() const {
  const std::lock_guard lock(mutex_);
  return queue_.bytes();
}

ConnectionCounters Connection::Impl::counters() const {
  ConnectionCounters counters;
  counters.bytes_sent = bytes_sent_;
  counters.bytes_received = bytes_received_;
  counters.frames_sent = frames_sent_;
  counters.frames_received = frames_received_;
  return counters;
}

Connection::Connection(std::shared_ptr<Impl> impl) : impl_(std::move(impl)) {}

std::shared_ptr<Connection> Connection::start(TaskGroup& group, std::unique_ptr<TlsStream> stream,
                                              Identity peer, ConnectionOptions options) {
  const auto impl = std::make_shared<Impl>(std::move(stream), std::move(peer), std::move(options));
  group.spawn(impl->executor_, Impl::write_loop(impl));
  group.spawn(impl->executor_, Impl::heartbeat_loop(impl));
  if (impl->options_.shaper) group.spawn(impl->executor_, Impl::shape_loop(impl));
  return std::shared_ptr<Connection>(new Connection(impl));
}

Connection::~Connection() {
  if (!ended()) close(Error{Errc::kClosed, "no longer used"});
}

void Connection::close(Error reason) {
  asio::post(impl_->executor_, [impl = impl_, reason = std::move(reason)]() mutable {
    impl->end(std::move(reason), Farewell::kSayGoodbye);
  });
}

asio::awaitable<Result<Frame>> Connection::read(TimePoint deadline) {
  return impl_->read(deadline);
}

Result<void> Connection::try_send(Frame frame, OnWritten on_written) {
  return impl_->try_send(impl_, frame, on_written);
}

asio::awaitable<Result<void>> Connection::send(Frame frame, TimePoint deadline,
                                               OnWritten on_written) {
  return impl_->send(std::move(frame), deadline, std::move(on_written));
}

bool Connection::ended() const { return impl_->ended(); }
ConnectionCounters Connection::counters() const { return impl_->counters(); }
std::size_t Connection::queued_bytes() const { return impl_->queued_bytes(); }
Duration Connection::round_trip_time() const { return impl_->round_trip_time_; }
const Identity& Connection::peer() const { return impl_->peer_; }
const std::string& Connection::remote_address() const { return impl_->remote_address_; }
const asio::any_io_executor& Connection::executor() const { return impl_->executor_; }

}  // namespace godwit::net
