// Arithmetic: one shard's log, recomputed in double from the pushes as their workers made them. What an entry
// did to P must be what its header says it did to those pushes, within what its codecs may lose.
#pragma once

#include <map>
#include <span>
#include <string>
#include <vector>

#include "shared/protocol/entry.h"
#include "shared/protocol/manifest.h"
#include "tests/sim/swarm.h"

namespace godwit::sim {

// A push as it left its worker.
struct MadePush {
  PushHeader header;
  std::vector<float> q;  // before the LAN codec
};
using MadePushes = std::map<PushId, MadePush>;

inline Verdict verdict_of(const Named& named, const Member& member) {
  return named.verdict == Verdict::kApplied ? member.verdict : named.verdict;
}

class Arithmetic {
 public:
  Arithmetic(const Swarm& swarm, const ShardLayout& layout);

  // The next entry of the log. `newest`: of all restores, also of one that went with its leader and comes again: a
  // region that has replayed it has discarded what was trained before. "" or what is wrong with the entry.
  std::string apply(const Entry& entry, const MadePushes& pushes, RestoreEpoch newest);

 private:
  struct Term {  // a value and how far off it may be
    double value = 0;
    double error = 0;
  };
  std::string check_scalars(const EntryHeader& header, const MadePushes& pushes) const;
  std::string check_members(const Named& named, const MadePushes& pushes, double& weight) const;
  std::string check_late(const EntryHeader& header, const MadePushes& pushes) const;
  std::string apply_block(const Entry& entry, std::uint32_t block, const MadePushes& pushes);
  static std::string check_state(const EntryHeader& header, std::uint32_t block, std::span<const float> values);
  std::vector<Term> gradient(const EntryHeader& header, std::uint32_t block, const MadePushes& pushes) const;
  std::vector<Term> contribution(const Named& named, bool initial, std::uint32_t block,
                                 const MadePushes& pushes) const;
  std::vector<Term> step(const EntryHeader& header, std::uint32_t block, std::vector<Term> gradient);

  const Swarm& swarm_;
  const ShardLayout& layout_;
  std::vector<float> values_;       // P
  std::vector<Term> velocity_;
  EntryHeader last_;
  RestoreEpoch newest_restore_;
};

}  // namespace godwit::sim
