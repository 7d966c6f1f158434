// Network: one link per pair of processes that talk. A link is a connection that may break and be dialed
// again: in order while it lasts, everything in flight lost when it is cut, both ends told only after a while.
#pragma once

#include <functional>

#include "shared/protocol/messages.h"
#include "tests/sim/simulator.h"

namespace godwit::sim {

struct Endpoint {
  bool worker = false;
  std::uint32_t index = 0;  // of the region, or of the worker over all regions
  auto operator<=>(const Endpoint&) const = default;
};
std::string to_string(Endpoint endpoint);

// What a process hears from its links.
class Host {
 public:
  virtual ~Host() = default;
  virtual Endpoint endpoint() const = 0;
  virtual bool alive() const = 0;
  // Alive, and not asleep.
  virtual bool answers() const { return alive(); }
  virtual void on_up(Endpoint peer) = 0;
  virtual void on_down(Endpoint peer) = 0;
  virtual void on_delivery(Endpoint peer, const Message& message) = 0;
};

// A peer that is silent for this long is taken for gone.
inline constexpr Duration kHeartbeatLimit = milliseconds(1500);

class Link {
 public:
  struct Quality {
    Duration delay_min{}, delay_max{};
    double bytes_per_second = 0;
  };
  // Both hosts outlive the link. The dialer dials until it is connected, and again after each cut.
  Link(Simulator& sim, Host& dialer, Host& acceptor, Quality quality)
      : sim_(sim), ends_{End{&dialer}, End{&acceptor}}, quality_(quality) {}
  Link(const Link&) = delete;
  Link& operator=(const Link&) = delete;

  // A process on this link started: dial if it is down.
  void dial();
  // Silently lost when the link is down. `left` runs when the message has left the sender for the wire.
  void send(const Host& from, Message message, std::function<void()> left = {});
  void cut();
  // The process at this end is gone: it is told nothing.
  void end_died(const Host& end);
  // Nothing gets through until then; a link that is up is cut.
  void block(TimePoint until);
  // What this end sends arrives only after that; a link whose heartbeats stay away for too long is cut.
  void block_one_way(const Host& from, TimePoint until);
  // What is sent from now on arrives later.
  void stall(Duration extra) { stall_ = extra; }
  bool up() const { return established_; }

 private:
  struct End {
    Host* host;
    bool told_up = false;
    TimePoint line_free{};      // when the last byte that it sent has left
    TimePoint last_arrival{};   // of what it sent, at the other end
  };
  void try_dial();
  void establish();
  void tell_down(int end);
  int index_of(const Host& host) const { return &host == ends_[0].host ? 0 : 1; }

  Simulator& sim_;
  End ends_[2];  // dialer, acceptor
  Quality quality_;
  std::uint64_t generation_ = 0;  // grows with every connection and every cut
  bool established_ = false;
  bool dialing_ = false;
  TimePoint blocked_until_{};
  TimePoint silent_until_[2]{};  // per sending end
  Duration stall_{};
};

}  // namespace godwit::sim
