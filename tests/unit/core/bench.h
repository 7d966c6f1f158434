// Bench: region cores without time or chance. Effects are performed at once and in order, messages
// between regions arrive in the order in which they were sent, and what goes to workers is kept for
// the test to look at.
#pragma once

#include <deque>
#include <map>
#include <memory>
#include <vector>

#include "server/control/control_state.h"
#include "server/core/region_core.h"
#include "server/storage/memory_store.h"

namespace godwit::test {

// Blocks of 8, 4 and (exact) 4 parameters per shard.
Manifest small_manifest();
// fp32 everywhere, plain SGD, short times.
RunSettings small_settings();

struct PushParts {
  std::uint64_t worker = 1;
  std::uint64_t incarnation = 1;
  std::uint64_t sequence = 1;
  std::uint64_t round = 1;
  float weight = 2;
  std::uint32_t steps = 4;
  PushKind kind = PushKind::kPseudoGradient;
  Version base{};
  double base_weight = 0;
  std::uint64_t restore_epoch = 0;
};
Push make_push(const PushParts& parts, const std::vector<float>& d);
std::vector<float> filled(float first);  // first, first + 1, ... over the small model

class Bench {
 public:
  explicit Bench(RunSettings settings = small_settings(), std::uint32_t regions = 1);

  // Region 0 leads first. Opens (again) from its store, in the next epoch if it leads, and connects to all
  // that are open.
  Result<void> open(std::uint32_t region);
  void close(std::uint32_t region);  // the process is gone; what its store lost is up to the test
  void cut(std::uint32_t a, std::uint32_t b);
  void heal(std::uint32_t a, std::uint32_t b);

  RegionCore& core(std::uint32_t region) { return *nodes_[region].core; }
  const ShardCore& shard(std::uint32_t region) { return core(region).shard(ShardId()); }
  MemoryStore& store(std::uint32_t region) { return *nodes_[region].store; }
  const RunSettings& settings() const { return settings_; }

  void from_worker(std::uint32_t region, const Message& message, std::uint64_t worker = 1);
  void join(std::uint32_t region, std::uint64_t worker = 1, float weight = 2) {
    from_worker(region, Join{weight}, worker);
  }
  void push(std::uint32_t region, const PushParts& parts, const std::vector<float>& d);
  // The initial model, from region 0.
  void begin(const std::vector<float>& model);
  // What every region hears from the control store.
  void set_item(std::string_view key, const Bytes& value);
  void set_mode(Mode mode, std::uint64_t epoch, std::uint32_t sync_steps = 1);
  void deliver(std::uint32_t from, std::uint32_t to,
               const Message& message);  // as if it came over the link
  void pass(Duration duration);          // and tick everyone
  // When set, nothing is delivered between regions until released.
  void hold_offers(bool hold) { hold_offers_ = hold; }

  ControlReply control(const ControlRequest& request) { return control_.handle(request, now_).reply; }
  ShardRecord record() const { return *ShardRecord::decode(held().value); }
  // As an operator would: the next leader finds its name in the record.
  void wish(std::uint32_t region);
  // What the control store holds reaches this region.
  void tell(std::uint32_t region);
  TimePoint now() const { return now_; }
  // Messages to workers since the last call.
  std::vector<Message> take_replies() { return std::exchange(replies_, {}); }
  // The newest message of one kind to a region, or nullptr.
  template <class M>
  const M* last_sent() const {
    for (auto message = sent_.rbegin(); message != sent_.rend(); ++message) {
      if (const M* found = std::get_if<M>(&*message)) return found;
    }
    return nullptr;
  }
  std::size_t notices(Notice::Kind kind) const;

 private:
  struct Node {
    std::unique_ptr<MemoryStore> store = std::make_unique<MemoryStore>();
    std::unique_ptr<RegionCore> core;
  };
  struct Transit {
    std::uint32_t from, to;
    Message message;
  };
  ControlItem held() const;
  void perform(std::uint32_t region, Effects effects);
  void settle();
  bool connected(std::uint32_t a, std::uint32_t b) const;

  RunSettings settings_;
  Manifest manifest_ = small_manifest();
  std::vector<Node> nodes_;
  std::map<std::pair<std::uint32_t, std::uint32_t>, bool> cut_;
  std::deque<Transit> transit_;
  std::vector<Message> replies_;
  std::vector<Message> sent_;
  std::vector<Notice> notices_;
  TimePoint now_{seconds(1)};
  MemoryStore control_store_;
  mutable ControlState control_ = *ControlState::load(control_store_, now_);
  Revision revision_{1000};  // of what set_item() tells
  bool hold_offers_ = false;
  bool settling_ = false;
};

}  // namespace godwit::test
