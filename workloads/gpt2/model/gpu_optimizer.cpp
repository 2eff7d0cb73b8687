#include <array>
#include <span>

#include "gpt2/common/nvtx.h"
#include "gpt2/model/gpu_model_of.h"

namespace ridgeline::gpt2 {

template <typename T>
void GpuModelOf<T>::optimizer_step(const OptimizerOptions& o) {
  const NvtxRange range("optimizer");
  GradientNorm* norm = &result_.data()->gradient;
  launch_global_norm(norm, gradients_.data(), layout_.total(), o.clip, scratch_.data(), stream_.get());
  std::array<WeightDecayRange, kTensorCount> ranges;
  std::size_t count = 0;
  for (int t = 0; t < kTensorCount; ++t) {
    const auto tensor = static_cast<Tensor>(t);
    if (!tensor_is_matrix(tensor)) continue;
    ranges[count++] = {layout_.offset(tensor), layout_.offset(tensor) + layout_.count(tensor),
                       o.weight_decay};
  }
  launch_adamw(parameters_.data(), master_.data(), m_.data(), v_.data(), gradients_.data(), norm,
               layout_.total(), std::span<const WeightDecayRange>(ranges.data(), count), o.adamw,
               stream_.get(), o.step_factors);
}

template void GpuModelOf<float>::optimizer_step(const OptimizerOptions&);
template void GpuModelOf<bf16>::optimizer_step(const OptimizerOptions&);

}  // namespace ridgeline::gpt2
