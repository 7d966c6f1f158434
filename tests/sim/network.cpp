#include "tests/sim/network.h"

#include <algorithm>

#include "tests/sim/message_text.h"

namespace godwit::sim {

std::string to_string(Endpoint endpoint) {
  return (endpoint.worker ? "worker " : "server ") + std::to_string(endpoint.index);
}

void Link::dial() {
  if (dialing_ || established_) return;
  dialing_ = true;
  sim_.after(sim_.between(milliseconds(5), milliseconds(200)), [this] { try_dial(); });
}

void Link::try_dial() {
  dialing_ = false;
  if (established_ || !ends_[0].host->alive()) return;  // a restarted dialer dials anew
  const TimePoint blocked = std::max({blocked_until_, silent_until_[0], silent_until_[1]});
  if (!ends_[0].host->answers() || !ends_[1].host->answers() || sim_.now() < blocked) {
    dialing_ = true;
    sim_.after(sim_.between(milliseconds(50), milliseconds(400)), [this] { try_dial(); });
    return;
  }
  establish();
}

void Link::establish() {
  established_ = true;
  ++generation_;
  sim_.record("connected", ends_[0].host->endpoint().index, ends_[1].host->endpoint().index, generation_);
  // An end that has not noticed the cut learns of it from the new connection.
  for (const int end : {0, 1}) tell_down(end);
  ends_[1].told_up = true;
  ends_[1].host->on_up(ends_[0].host->endpoint());
  const Duration delay = sim_.between(quality_.delay_min, quality_.delay_max);
  for (End& end : ends_) end.line_free = end.last_arrival = sim_.now() + delay;
  sim_.after(delay, [this, connection = generation_] {
    if (connection != generation_) return;
    ends_[0].told_up = true;
    ends_[0].host->on_up(ends_[1].host->endpoint());
  });
}

void Link::send(const Host& from, Message message, std::function<void()> left) {
  const int side = index_of(from);
  End& end = ends_[side];
  if (!established_ || !end.told_up) return;
  const auto transfer = std::chrono::duration_cast<Duration>(
      std::chrono::duration<double>(static_cast<double>(message_bytes(message)) / quality_.bytes_per_second));
  end.line_free = std::max(end.line_free, sim_.now()) + transfer;
  const Duration delay = sim_.between(quality_.delay_min, quality_.delay_max) + std::exchange(stall_, Duration());
  end.last_arrival = std::max({end.last_arrival, end.line_free + delay, silent_until_[side]});
  const std::uint64_t connection = generation_;
  if (left) {
    sim_.after(end.line_free - sim_.now(), [this, connection, left = std::move(left)] {
      if (connection == generation_) left();
    });
  }
  sim_.after(end.last_arrival - sim_.now(), [this, side, connection, message = std::move(message)] {
    if (connection != generation_) return;
    Host& to = *ends_[1 - side].host;
    const Endpoint peer = ends_[side].host->endpoint();
    sim_.record("deliver", message.index(), to.endpoint().index, peer.index);
    if (sim_.tracing()) sim_.trace(to_string(peer) + " -> " + to_string(to.endpoint()) + ": " + describe(message));
    to.on_delivery(peer, message);
  });
}

void Link::tell_down(int end) {
  if (!std::exchange(ends_[end].told_up, false) || !ends_[end].host->alive()) return;
  ends_[end].host->on_down(ends_[1 - end].host->endpoint());
}

void Link::cut() {
  if (!established_) return;
  established_ = false;
  ++generation_;
  sim_.record("cut", ends_[0].host->endpoint().index, ends_[1].host->endpoint().index, generation_);
  for (const int end : {0, 1}) {
    sim_.after(sim_.between(milliseconds(0), milliseconds(300)), [this, end, cut = generation_] {
      if (cut == generation_) tell_down(end);
    });
  }
  dial();
}

void Link::end_died(const Host& end) {
  ends_[index_of(end)].told_up = false;
  cut();
}

void Link::block_one_way(const Host& from, TimePoint until) {
  const int side = index_of(from);
  silent_until_[side] = std::max(silent_until_[side], until);
  if (until <= sim_.now() + kHeartbeatLimit) return;
  sim_.after(kHeartbeatLimit, [this, connection = generation_] {
    if (connection == generation_) cut();
  });
}

void Link::block(TimePoint until) {
  blocked_until_ = std::max(blocked_until_, until);
  cut();
}

}  // namespace godwit::sim
