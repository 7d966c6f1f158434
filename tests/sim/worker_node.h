// WorkerNode: the shell around a WorkerCore. Its training is a random walk with a pull toward a target. The
// core is called only between steps; what arrives during one waits.
#pragma once

#include <deque>
#include <memory>

#include "tests/sim/accounting.h"
#include "tests/sim/ledger.h"
#include "tests/sim/network.h"

namespace godwit::sim {

class WorkerNode final : public Host {
 public:
  struct World {
    Simulator& sim;
    const Swarm& swarm;
    Ledger& ledger;
    const Layout& layout;
  };
  // `index` counts over all regions.
  WorkerNode(World world, std::uint32_t index);

  void connect(Link& link) { link_ = &link; }
  void start();  // a new process: fresh parameters, a new incarnation
  void crash();
  void finish();  // no more steps; push what is left

  Endpoint endpoint() const override { return {true, index_}; }
  bool alive() const override { return core_ != nullptr; }
  void on_up(Endpoint peer) override;
  void on_down(Endpoint peer) override;
  void on_delivery(Endpoint peer, const Message& message) override;

  const WorkerCore* core() const { return core_.get(); }
  bool joined() const { return joined_; }
  // Everything that it did is in the model.
  bool settled() const;

 private:
  using Call = std::function<WorkerEffects(WorkerCore&, TimePoint)>;
  void enqueue(Call call, bool pulled = false);
  void turn();
  void perform(const Call& call, bool pulled);
  void become_ready();
  void begin_step();
  void end_step();
  void train();
  void schedule_tick(std::optional<TimePoint> deadline);
  void check_waits();

  World world_;
  std::uint32_t index_;
  Random random_;
  float weight_;
  Link* link_ = nullptr;
  std::unique_ptr<WorkerCore> core_;
  std::uint64_t life_ = 0;
  std::vector<float> theta_, target_;
  Parameters parameters_;
  Accounting accounting_;
  std::deque<std::pair<Call, bool>> inbox_;
  bool in_turn_ = false;
  bool stepping_ = false;
  bool fresh_run_ = false;   // the server has no model
  bool joined_ = false;
  bool finishing_ = false;
  Duration step_length_{};
  std::optional<TimePoint> tick_at_;
};

}  // namespace godwit::sim
