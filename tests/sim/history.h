// History: one shard's log as it grew, with every branch that an older leader left behind. One
// chain counts, that of the newest epoch; when a new leader does not extend it, what it leaves out
// is truncated, and the chain is recomputed from its beginning.
#pragma once

#include <map>
#include <set>

#include "tests/sim/arithmetic.h"
#include "tests/sim/counters.h"

namespace godwit::sim {

class History {
 public:
  struct Node {
    Entry entry;
    std::vector<Hash> states;  // of P, per block
  };
  History(const Swarm& swarm, const ShardLayout& layout);

  // An entry that the disk of its leader holds. "" or what is wrong with it.
  std::string add(const Entry& entry, const MadePushes& pushes, Counters& counters);

  // The target of a restore that leaders may commit from now on.
  void on_restore(RestoreEpoch epoch, const records::Pin& target) { targets_[epoch] = target; }

  // nullptr: nobody committed it. Hash(): version 0.
  const Node* find(Hash entry) const;
  // The entry at `version` on the branch that ends in `tip`; nullopt if the branch is shorter.
  std::optional<Hash> ancestor(Hash tip, Version version) const;
  // Where the branch that ends in `tip` names it.
  std::optional<Version> named_on(Hash tip, const PushId& push) const;

  // ---- the chain that counts
  const EntryHeader& head() const { return find(chain_.back())->entry.header; }
  Hash at(Version version) const { return chain_[version.value()]; }
  std::optional<Version> named(const PushId& push) const;
  bool ever_named(const PushId& push) const { return ever_named_.contains(push); }

 private:
  std::string extend(const Entry& entry, const MadePushes& pushes);
  std::string name_members(const EntryHeader& header);
  std::string change_branch(const Entry& entry, const MadePushes& pushes);
  void begin_chain();
  std::string check_restore(const Node& restored, RestoreEpoch before) const;

  const Swarm& swarm_;
  const ShardLayout& layout_;
  std::map<Hash, Node> nodes_;
  std::set<PushId> ever_named_;
  std::map<RestoreEpoch, records::Pin> targets_;
  RestoreEpoch newest_restore_;  // of all branches
  std::vector<Hash> chain_;  // by version; [0] is Hash()
  std::optional<Arithmetic> arithmetic_;
  std::map<PushId, Version> named_;
  std::map<records::ProducerId, SequenceNo> producers_;
};

}  // namespace godwit::sim
