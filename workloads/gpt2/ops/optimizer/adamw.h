// adamw.h: AdamW over all parameters of the model in one launch, or in one per tensor.
#pragma once

#include <cuda_runtime_api.h>

#include <cstdint>
#include <span>

#include "gpt2/common/switches.h"
#include "gpt2/ops/optimizer/global_norm.h"

namespace ridgeline::gpt2 {

/// Elements [begin, end) of the parameter buffer decay with this weight; elements in no range do not decay.
struct WeightDecayRange {
  std::int64_t begin = 0;
  std::int64_t end = 0;
  float weight_decay = 0.0F;
};
inline constexpr int kMaxWeightDecayRanges = 32;

struct AdamwConfig {
  float learning_rate = 3e-4F;
  float beta1 = 0.9F;
  float beta2 = 0.95F;
  float epsilon = 1e-8F;
  std::int64_t step = 1;  // 1 at the first update; drives the bias correction
};

/// What changes from update to update. A CUDA graph keeps the arguments its kernels were captured with, so a
/// captured update reads these from device memory.
struct AdamwStepFactors {
  float learning_rate = 0.0F;
  float inverse_correction1 = 0.0F;  // 1 / (1 - beta1^step)
  float inverse_correction2 = 0.0F;  // 1 / (1 - beta2^step)
  std::int64_t step = 0;             // draws the bits of stochastic rounding
};

/// Of bf16 parameters from their master weights: see stochastic_rounding.h.
struct StochasticRounding {
  bool enabled = false;
  std::uint64_t seed = 0;
};

/// How an update is made; the arithmetic of master weights and moments is the same to the last bit.
struct AdamwVariant {
  KernelWidth width = KernelWidth::packed;
  StochasticRounding rounding;     // of the copy in bf16
  std::int64_t first_element = 0;  // where these parameters begin in the model's; draws the bits of rounding
};

/// In FP64 on the host: 1 - beta^step loses digits in FP32 for the first steps. Throws std::invalid_argument
/// unless step >= 1.
AdamwStepFactors adamw_step_factors(const AdamwConfig& config);

/// m = b1 m + (1-b1) g s;  v = b2 v + (1-b2) (g s)^2;
/// p -= lr (m/(1-b1^step) / (sqrt(v/(1-b2^step)) + eps) + decay p).  Real is float or double.
template <typename Real>
void adamw_cpu(Real* params, Real* m, Real* v, const Real* grads, Real clip_scale, std::int64_t n,
               std::span<const WeightDecayRange> ranges, const AdamwConfig& config);

/// FP32 gradient, m, v and master read; m, v, master and (when T is narrower) the copy in T written.
template <typename T>
constexpr std::int64_t adamw_bytes(std::int64_t n) {
  return n * (7 * std::int64_t{sizeof(float)} + (sizeof(T) == sizeof(float) ? 0 : std::int64_t{sizeof(T)}));
}
constexpr std::int64_t adamw_flops(std::int64_t n) {
  return 15 * n;
}

/// T = bf16: `master` (n) FP32 is updated and its rounded copy written to `params`.
/// T = float: `params` are the master weights; `master` must be null or equal params.
/// norm: device pointer from launch_global_norm (its clip_scale multiplies the gradients; if it is not finite
/// nothing is changed), or null for scale 1. At most kMaxWeightDecayRanges ranges, disjoint, within [0, n);
/// throws std::invalid_argument otherwise.
/// step_factors: device pointer, read when the kernel runs in place of config's learning rate and step; or
/// null. Stochastic rounding of FP32 parameters throws std::invalid_argument: nothing is rounded there.
template <typename T>
void launch_adamw(T* params, float* master, float* m, float* v, const float* grads, const GradientNorm* norm,
                  std::int64_t n, std::span<const WeightDecayRange> ranges, const AdamwConfig& config,
                  cudaStream_t stream, const AdamwStepFactors* step_factors = nullptr,
                  const AdamwVariant& variant = {});

/// One launch of launch_adamw a tensor, one element per access: how an optimizer's loop over parameters is
/// written first. The tensors' elements are those of one parameter buffer, which need not all be covered; a
/// tensor without decay has weight_decay 0. Updates bit for bit what launch_adamw does.
template <typename T>
void launch_adamw_per_tensor(T* params, float* master, float* m, float* v, const float* grads,
                             const GradientNorm* norm, std::span<const WeightDecayRange> tensors,
                             const AdamwConfig& config, cudaStream_t stream,
                             const AdamwStepFactors* step_factors = nullptr,
                             const StochasticRounding& rounding = {});

}  // namespace ridgeline::gpt2
