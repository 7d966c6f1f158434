#include "server/core/admission.h"

#include <algorithm>
#include <cmath>

#include "shared/codec/codec.h"
#include "shared/tensor/kernels.h"

namespace godwit {
namespace {
constexpr std::size_t kMedianWindow = 64;
constexpr double kAbsurdNorm = 1e15;  // far above any model's, far below what overflows when weighted and summed
}

Result<void> Admission::check_header(const PushHeader& header) const {
  if (header.manifest != manifest_) return Error{Errc::kConflict, "the push is of another model than this run's"};
  // Sums are divided by weights: one of nearly nothing would multiply what it says.
  if (!(header.weight >= settings_.push_weight_min && header.weight <= settings_.push_weight_max)) {
    return Error{Errc::kInvalid, "tokens per step must be in [" + std::to_string(settings_.push_weight_min) + ", " +
                                     std::to_string(settings_.push_weight_max) + "]"};
  }
  if (header.kind == PushKind::kInitial) {
    return header.weight == 1 ? Result<void>() : Error{Errc::kInvalid, "an initial push has weight 1"};
  }
  if (header.round == Round()) return Error{Errc::kInvalid, "a push carries the label of a round, from 1"};
  if (header.steps == 0 || header.steps > settings_.push_steps_max) {
    return Error{Errc::kInvalid, "inner steps must be in [1, " + std::to_string(settings_.push_steps_max) + "]"};
  }
  // A push holds `steps` steps of about `weight` tokens; far more would buy this worker the token clock.
  if (static_cast<double>(header.tokens) > 4.0 * header.weight * header.steps) {
    return Error{Errc::kInvalid, "more tokens than its steps can have consumed"};
  }
  return {};
}

Result<Admission::Admitted> Admission::admit(const Push& push) {
  const PushHeader& header = push.header;
  if (Result<void> checked = check_header(header); !checked) return checked.error();
  if (push.payloads.size() != layout_.blocks.size()) return Error{Errc::kInvalid, "one payload per block of the shard"};
  values_.resize(layout_.parameters);
  double squares = 0;
  for (std::size_t block = 0; block < layout_.blocks.size(); ++block) {
    const Block& place = layout_.blocks[block];
    const bool exact = place.exact || header.kind == PushKind::kInitial;
    const CodecSpec codec = exact ? exact_codec(header.codec) : header.codec;
    const std::span<float> values = std::span(values_).subspan(place.offset - layout_.offset, place.count);
    if (Result<void> decoded = decode_block(codec, view(push.payloads[block]), values); !decoded) {
      return Error{decoded.error().code, "block " + std::to_string(block) + ": " + decoded.error().context};
    }
    squares += kernels::sum_of_squares(values);  // while the block is in the cache
  }
  // No square of a float overflows a double, nor does any sum of them: only NaN and infinity get this far.
  if (!std::isfinite(squares)) {
    return Error{Errc::kInvalid, "the push holds NaN or infinity: the worker's training has diverged"};
  }
  const double norm = std::sqrt(squares);
  if (!(norm < kAbsurdNorm)) return Error{Errc::kInvalid, "the norm of the push is absurd: " + std::to_string(norm)};
  const bool clips = header.kind == PushKind::kPseudoGradient;
  return Admitted{values_, clips ? clip_factor(norm / header.steps) : 1};
}

float Admission::clip_factor(double norm_per_step) {
  double factor = 1;
  if (admitted_ >= settings_.clip_free_pushes) {
    std::deque<double> sorted = norms_;
    const auto middle = sorted.begin() + static_cast<std::ptrdiff_t>(sorted.size() / 2);
    std::nth_element(sorted.begin(), middle, sorted.end());
    const double bound = settings_.clip_factor * *middle;
    if (bound > 0 && norm_per_step > bound) factor = bound / norm_per_step;
  }
  ++admitted_;
  norms_.push_back(norm_per_step * factor);
  if (norms_.size() > kMedianWindow) norms_.pop_front();
  return static_cast<float>(factor);
}

}  // namespace godwit
