// The routed experts of one layer, as differentiable libtorch operations. Internal to this library.
#pragma once

#include <ATen/core/Tensor.h>

#include "worker/trainer/routing.h"

namespace godwit::trainer {

// silu(gate) * up of [.., gate | up].
at::Tensor swiglu(const at::Tensor& gate_up);

// Sum over a token's chosen experts of weight x SwiGLU expert. x is [token, hidden], scores [token,
// expert] (after the sigmoid, without bias), expert_in [expert, 2 inner, hidden], expert_out
// [expert, hidden, inner].
at::Tensor routed_experts(const at::Tensor& x, const at::Tensor& scores,
                          const at::Tensor& expert_in, const at::Tensor& expert_out,
                          const Routing& routing);

}  // namespace godwit::trainer
