// Admission: what may enter an aggregate, decided on the whole push of a shard before any acknowledgement.
// Norm per step above clip_factor x the running median of the region is clipped, and the factor recorded;
// what is not finite, or beyond the manifest's sizes and the run's caps, is refused with a reason.
#pragma once

#include <deque>
#include <span>
#include <vector>

#include "server/core/settings.h"
#include "shared/protocol/manifest.h"
#include "shared/protocol/messages.h"

namespace godwit {

class Admission {
 public:
  Admission(const RunSettings& settings, const ShardLayout& layout, Hash manifest)
      : settings_(settings), layout_(layout), manifest_(manifest) {}

  struct Admitted {
    const std::vector<float>& values;  // d, flat over the shard; until the next admit()
    float clip = 1;
  };
  // Errors: kInvalid, kMalformed, kUnsupported, kConflict (another manifest), with the reason.
  Result<Admitted> admit(const Push& push);

 private:
  Result<void> check_header(const PushHeader& header) const;
  float clip_factor(double norm_per_step);

  const RunSettings& settings_;
  const ShardLayout& layout_;
  Hash manifest_;
  std::vector<float> values_;  // of the last push; kept, since fresh memory costs more than decoding into it
  std::deque<double> norms_;  // of the last pushes, per step, after clipping
  std::uint64_t admitted_ = 0;
};

}  // namespace godwit
