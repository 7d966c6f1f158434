#include "worker/trainer/experts.h"

#include <ATen/ATen.h>
#include <torch/csrc/autograd/custom_function.h>

namespace godwit::trainer {
namespace {

using torch::autograd::AutogradContext;
using torch::autograd::Function;
using torch::autograd::variable_list;

at::Tensor indices(const std::vector<std::int64_t>& values) {
  return at::from_blob(const_cast<std::int64_t*>(values.data()),
                       {static_cast<std::int64_t>(values.size())}, at::kLong)
      .clone();
}

// Rows of tokens to rows of slots, and back: each is the transpose of the other, so each is the
// other's gradient. (index_add, the ready-made gradient, costs a call per row on CPUs.)
at::Tensor to_slots(const at::Tensor& tokens, const at::Tensor& token_of) {
  return tokens.index_select(0, token_of);
}
at::Tensor to_tokens(const at::Tensor& slots, const at::Tensor& slot_of) {
  return slots.index_select(0, slot_of.view(-1))
      .view({slot_of.size(0), slot_of.size(1), -1})
      .sum(1);
}

class Dispatch : public Function<Dispatch> {
 public:
  static at::Tensor forward(AutogradContext* context, const at::Tensor& x,
                            const at::Tensor& token_of, const at::Tensor& slot_of) {
    context->save_for_backward({slot_of});
    return to_slots(x, token_of);
  }
  static variable_list backward(AutogradContext* context, variable_list gradients) {
    return {to_tokens(gradients[0], context->get_saved_variables()[0]), {}, {}};
  }
};

class Combine : public Function<Combine> {
 public:
  static at::Tensor forward(AutogradContext* context, const at::Tensor& y,
                            const at::Tensor& token_of, const at::Tensor& slot_of) {
    context->save_for_backward({token_of});
    return to_tokens(y, slot_of);
  }
  static variable_list backward(AutogradContext* context, variable_list gradients) {
    return {to_slots(gradients[0], context->get_saved_variables()[0]), {}, {}};
  }
};

// y[slot] = weight[expert of slot] x[slot], slots sorted by expert: one matrix product an expert.
class GroupedLinear : public Function<GroupedLinear> {
 public:
  static at::Tensor forward(AutogradContext* context, const at::Tensor& x, const at::Tensor& weight,
                            std::vector<std::int64_t> first_slot) {
    at::Tensor y = at::empty({x.size(0), weight.size(1)}, x.options());
    for (std::int64_t e = 0; e < weight.size(0); ++e) {
      at::Tensor rows = group(y, first_slot, e);
      at::mm_out(rows, group(x, first_slot, e), weight[e].t());
    }
    context->save_for_backward({x, weight});
    context->saved_data["first_slot"] = std::move(first_slot);
    return y;
  }
  static variable_list backward(AutogradContext* context, variable_list gradients) {
    const variable_list saved = context->get_saved_variables();
    const at::Tensor& x = saved[0];
    const at::Tensor& weight = saved[1];
    const std::vector<std::int64_t> first_slot = context->saved_data["first_slot"].toIntVector();
    const at::Tensor dy = gradients[0].contiguous();
    at::Tensor dx = at::empty(x.sizes(), x.options());
    at::Tensor dweight = at::empty(weight.sizes(), weight.options());
    for (std::int64_t e = 0; e < weight.size(0); ++e) {
      at::Tensor dx_rows = group(dx, first_slot, e);
      at::Tensor dweight_rows = dweight[e];
      const at::Tensor dy_rows = group(dy, first_slot, e);
      at::mm_out(dx_rows, dy_rows, weight[e]);
      at::mm_out(dweight_rows, dy_rows.t(), group(x, first_slot, e));
    }
    return {dx, dweight, {}};
  }

 private:
  static at::Tensor group(const at::Tensor& rows, const std::vector<std::int64_t>& first_slot,
                          std::int64_t expert) {
    const auto e = static_cast<std::size_t>(expert);
    return rows.narrow(0, first_slot[e], first_slot[e + 1] - first_slot[e]);
  }
};

// Sigmoid scores of the chosen experts, normalised, one a slot.
at::Tensor slot_weights(const at::Tensor& scores, const at::Tensor& chosen,
                        const at::Tensor& slot_of) {
  const at::Tensor picked = scores.gather(1, chosen);
  const at::Tensor weights = picked / (picked.sum(1, true) + 1e-20);
  return at::empty({slot_of.numel()}, scores.options())
      .index_copy(0, slot_of.view(-1), weights.view(-1))
      .unsqueeze(1);
}

}  // namespace

at::Tensor swiglu(const at::Tensor& gate_up) {
  const std::vector<at::Tensor> halves = gate_up.chunk(2, -1);
  return at::silu(halves[0]) * halves[1];
}

at::Tensor routed_experts(const at::Tensor& x, const at::Tensor& scores,
                          const at::Tensor& expert_in, const at::Tensor& expert_out,
                          const Routing& routing) {
  const std::int64_t tokens = x.size(0);
  const at::Tensor chosen = indices(routing.chosen).view({tokens, -1});
  const at::Tensor slot_of = indices(routing.slot_of).view({tokens, -1});
  const at::Tensor token_of = indices(routing.token_of);
  const at::Tensor inner = swiglu(
      GroupedLinear::apply(Dispatch::apply(x, token_of, slot_of), expert_in, routing.first_slot));
  const at::Tensor y = GroupedLinear::apply(inner * slot_weights(scores, chosen, slot_of),
                                            expert_out, routing.first_slot);
  return Combine::apply(y, token_of, slot_of);
}

}  // namespace godwit::trainer
