#include "server/core/announcer.h"

#include <algorithm>

namespace godwit {
namespace {

bool has_offered(const RegionOffer& offer, Round round) {
  return offer.empty_through >= round || (offer.pending && *offer.pending >= round);
}

}  // namespace

Duration Announcer::window(float step_seconds) const {
  if (step_seconds <= 0) return settings_.window_max;
  const auto steps = std::chrono::duration_cast<Duration>(std::chrono::duration<double>(16.0 * step_seconds));
  return std::clamp(steps, settings_.window_min, settings_.window_max);
}

void Announcer::advance(const View& view, TimePoint now, Effects& effects) {
  bool any_live = false, anyone_missing = false, anything_pending = false;
  for (const auto& [region, offer] : view.regions) {
    any_live |= offer.awaited;
    anyone_missing |= offer.awaited && !has_offered(offer, announced_);
    anything_pending |= offer.pending.has_value();
  }
  if (!any_live) return;
  // Round r is over when it is committed, or when everybody said that nothing comes.
  const bool over = view.committed >= announced_ || (!anyone_missing && !anything_pending);
  if (over) {
    const TimePoint due = opened_at_ + window(view.step_seconds);
    if (announced_ != Round() && now < due) return effects.wake_at(due);
    if (!view.drained) return;  // the drain event comes back here
    announced_ = std::max(announced_, view.committed).next();
    opened_at_ = now;
    return announce(view, now, effects);
  }
  if (!anyone_missing) return;
  if (now < resend_at_) return effects.wake_at(resend_at_);
  announce(view, now, effects);
}

void Announcer::announce(const View& view, TimePoint now, Effects& effects) {
  const Duration length = window(view.step_seconds);
  resend_at_ = now + length;
  effects.wake_at(resend_at_);
  const auto length_ms = static_cast<std::uint32_t>(std::chrono::duration_cast<milliseconds>(length).count());
  for (const auto& [region, offer] : view.regions) {
    if (offer.awaited && !has_offered(offer, announced_)) {
      effects.send(region, Announce{shard_, epoch_, announced_, length_ms});
    }
  }
}

}  // namespace godwit
