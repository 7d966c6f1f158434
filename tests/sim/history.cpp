#include "tests/sim/history.h"

#include <algorithm>

#include "shared/tensor/kernels.h"
#include "tests/sim/message_text.h"

namespace godwit::sim {

using godwit::to_string;

History::History(const Swarm& swarm, const ShardLayout& layout) : swarm_(swarm), layout_(layout) {
  Node& root = nodes_[Hash()];
  const std::vector<float> zeros(layout.parameters);
  for (const Block& block : layout.blocks) {
    root.states.push_back(
        kernels::block_hash(std::span(zeros).subspan(block.offset - layout.offset, block.count)));
  }
  begin_chain();
}

void History::begin_chain() {
  chain_ = {Hash()};
  arithmetic_.emplace(swarm_, layout_);
  named_.clear();
  producers_.clear();
}

const History::Node* History::find(Hash entry) const {
  const auto found = nodes_.find(entry);
  return found == nodes_.end() ? nullptr : &found->second;
}

std::optional<Hash> History::ancestor(Hash tip, Version version) const {
  const Node* node = find(tip);
  if (node == nullptr || node->entry.header.version < version) return std::nullopt;
  while (node->entry.header.version > version) {
    tip = node->entry.header.previous;
    node = find(tip);
  }
  return tip;
}

std::optional<Version> History::named_on(Hash tip, const PushId& push) const {
  for (const Node* node = find(tip); node->entry.header.version != Version();
       node = find(node->entry.header.previous)) {
    for (const Named& named : node->entry.header.contributions) {
      for (const Member& member : named.members) {
        if (member.id == push) return node->entry.header.version;
      }
    }
  }
  return std::nullopt;
}

std::optional<Version> History::named(const PushId& push) const {
  const auto found = named_.find(push);
  return found == named_.end() ? std::nullopt : std::optional(found->second);
}

std::string History::add(const Entry& entry, const MadePushes& pushes, Counters& counters) {
  const EntryHeader& header = entry.header;
  const Node* parent = find(header.previous);
  if (parent == nullptr) return "its chain is broken: nobody committed what it follows";
  const EntryHeader& before = parent->entry.header;
  if (header.version != before.version.next()) return "versions are not dense";
  if (header.epoch < before.epoch) return "its epoch is older than that of the version before";
  if (header.mode_epoch < before.mode_epoch) return "an older mode came back";
  if (before.version != Version() && header.leader != before.leader &&
      header.kind != EntryKind::kPromotion) {
    return "another leader goes on without a promotion";
  }
  const EntryHeader newest = head();
  const RestoreEpoch restored = before.restore_epoch;
  Node& node = nodes_[entry.hash];
  node = {entry, parent->states};
  for (std::size_t block = 0; block < header.blocks.size(); ++block)
    node.states[block] = header.blocks[block].state;
  for (const Named& named : header.contributions) {
    for (const Member& member : named.members) ever_named_.insert(member.id);
  }
  if (std::string wrong = check_restore(node, restored); !wrong.empty()) return wrong;
  newest_restore_ = std::max(newest_restore_, header.restore_epoch);
  if (header.kind == EntryKind::kPromotion) ++counters[Count::kPromotions];
  if (header.previous == chain_.back()) return extend(entry, pushes);
  if (header.epoch == newest.epoch) return "two entries follow one in an epoch";
  ++counters[Count::kForkedEntries];
  if (header.epoch < newest.epoch)
    return "";  // a leader that does not know yet that it is none any more
  return change_branch(entry, pushes);
}

// P is what it was, bit for bit.
std::string History::check_restore(const Node& restored, RestoreEpoch before) const {
  const EntryHeader& header = restored.entry.header;
  if (header.kind != EntryKind::kRestore)
    return header.restore_epoch == before ? "" : "the restore epoch changes without a restore";
  const auto target = targets_.find(header.restore_epoch);
  if (header.restore_epoch <= before || target == targets_.end()) return "a restore that nobody asked for";
  const Node* past = find(target->second.entry);
  return past != nullptr && past->states == restored.states ? "" : "a restore to another state";
}

std::string History::change_branch(const Entry& entry, const MadePushes& pushes) {
  std::vector<const Entry*> branch{&entry};
  while (branch.back()->header.previous != Hash())
    branch.push_back(&find(branch.back()->header.previous)->entry);
  std::reverse(branch.begin(), branch.end());
  begin_chain();
  for (const Entry* next : branch) {
    if (std::string wrong = extend(*next, pushes); !wrong.empty()) return wrong;
  }
  return "";
}

std::string History::extend(const Entry& entry, const MadePushes& pushes) {
  if (std::string wrong = name_members(entry.header); !wrong.empty()) return wrong;
  if (std::string wrong = arithmetic_->apply(entry, pushes, newest_restore_); !wrong.empty()) return wrong;
  chain_.push_back(entry.hash);
  return "";
}

std::string History::name_members(const EntryHeader& header) {
  for (const Named& named : header.contributions) {
    SequenceNo& last = producers_[{named.region, named.incarnation}];
    if (named.sequence != last.next()) {
      return "contributions of region " + to_string(named.region) + " are not dense";
    }
    last = named.sequence;
    for (const Member& member : named.members) {
      if (!named_.emplace(member.id, header.version).second) {
        return "push " + sim::to_string(member.id) + " is named twice";
      }
    }
  }
  return "";
}

}  // namespace godwit::sim
