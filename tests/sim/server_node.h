// ServerNode: the shell around a RegionCore. It performs Effects in their order, with a slow disk during which
// events wait, and it may die between any two writes, and between a write and a send.
#pragma once

#include <deque>
#include <map>
#include <memory>

#include "server/core/region_core.h"
#include "server/storage/memory_store.h"
#include "tests/sim/control.h"
#include "tests/sim/ledger.h"
#include "tests/sim/network.h"

namespace godwit::sim {

class ServerNode final : public Host {
 public:
  struct World {
    Simulator& sim;
    const Swarm& swarm;
    Control& control;
    Ledger& ledger;
    const bool& faulty;  // faults may still be injected
  };
  ServerNode(World world, RegionId region) : world_(world), region_(region) {}

  void connect(Endpoint peer, Link& link) { links_[peer] = &link; }
  void start();
  void crash() { crash(milliseconds(50), milliseconds(1500)); }
  // It stays away for a time between these.
  void crash(Duration away_min, Duration away_max);
  // The machine is gone with its disk; another one with a new data directory takes its place.
  // REQUIRES: every shard has another member of its in-sync set (else what only it held would be lost).
  void lose_disk();
  // It dies, and a byte of its log flips, which recovery must find: its replicas are renewed. REQUIRES: as above.
  void rot();
  // The next write fails; the process stops there.
  void break_disk();
  // The process does nothing until then, and knows nothing of it.
  void pause(Duration duration);

  Endpoint endpoint() const override { return {false, region_.value()}; }
  bool alive() const override { return core_ != nullptr; }
  bool answers() const override { return alive() && world_.sim.now() >= asleep_until_; }
  void on_up(Endpoint peer) override;
  void on_down(Endpoint peer) override;
  void on_delivery(Endpoint peer, const Message& message) override;

  RegionId region() const { return region_; }
  const RegionCore* core() const { return core_.get(); }

 private:
  using Event = std::function<Effects(RegionCore&, TimePoint)>;
  // From a dead process to a core: the records of all shards, then an epoch for each shard that it leads.
  void read_records();
  void claim_next();
  void open();
  bool flip_byte();
  void renew(ShardId shard);
  void drop_replicas();
  void ask(const ControlRequest& request, const std::function<void(const ControlReply&)>& answer);
  // A watch of the control store.
  void poll();
  void tell(const ControlReply& reply);
  void enqueue(Event event);
  void pump();
  void begin(Effects effects);
  void check_watermarks();
  void write_next();
  void send_all();
  void send(const Send& send);
  void notice(const Notice& notice);
  void schedule_tick(std::optional<TimePoint> deadline);
  bool dies_here();
  Link* link(Endpoint peer) const;

  World world_;
  RegionId region_;
  std::unique_ptr<MemoryStore> store_ = std::make_unique<MemoryStore>();
  Incarnation incarnation_{1};  // of the data directory
  Incarnation newest_{1};       // name that this region gave to a data directory or a replica
  bool rotten_ = false;
  bool damaged_ = false;        // a mark on the disk: it was found to be rotten
  std::map<Endpoint, Link*> links_;
  std::unique_ptr<RegionCore> core_;
  std::uint64_t life_ = 0;      // grows at every start and crash: older actions are void
  std::uint64_t turn_ = 0;      // of the boot: answers to older questions are void
  RegionCore::Place place_;     // while it boots
  Revision polled_;
  TimePoint asleep_until_{};
  bool ever_started_ = false;
  std::deque<Event> inbox_;
  bool busy_ = false;
  Effects current_;             // being performed
  std::size_t next_write_ = 0;
  std::optional<TimePoint> tick_at_;
  TimePoint last_tick_{};
  std::uint32_t ticks_at_once_ = 0;  // ticks without time passing: many are a busy loop
};

}  // namespace godwit::sim
