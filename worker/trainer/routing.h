// Which tokens go to which experts: top-k of score + bias, tokens then grouped by expert (counting
// sort). Plain arithmetic on spans; ties go to the lower expert, so the same scores always route
// the same way.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

namespace godwit::trainer {

// A slot is one (token, choice) pair; slots are sorted by expert, then token.
struct Routing {
  std::vector<std::int64_t> chosen;      // [token][choice] -> expert
  std::vector<std::int64_t> slot_of;     // [token][choice] -> slot
  std::vector<std::int64_t> token_of;    // [slot] -> token
  std::vector<std::int64_t> first_slot;  // [expert] -> its first slot; one more at the end
};

// `scores` is [token][expert] with bias.size() experts. REQUIRES: 1 <= choices <= experts.
Routing route(std::span<const float> scores, std::span<const float> bias, std::int64_t choices);

// Auxiliary-loss-free balancing: raises the bias of experts that got less than the mean load by
// `rate`, lowers the others', then subtracts the mean of the change so that the bias never drifts.
void balance(std::span<float> bias, std::span<const std::int64_t> load, float rate);

}  // namespace godwit::trainer
