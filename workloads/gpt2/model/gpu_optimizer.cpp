#include <array>
#include <span>
#include <vector>

#include "gpt2/common/nvtx.h"
#include "gpt2/model/gpu_model_of.h"

namespace ridgeline::gpt2 {
namespace {

bool decays(Tensor tensor, const OptimizerOptions& o) {
  const bool embedding = tensor == Tensor::wte || tensor == Tensor::wpe;
  return tensor_is_matrix(tensor) && (o.decay_embeddings || !embedding);
}

}  // namespace

template <typename T>
void GpuModelOf<T>::optimizer_step_per_tensor(const OptimizerOptions& o, GradientNorm* norm,
                                              const StochasticRounding& rounding) {
  launch_global_norm_per_tensor(norm, gradients_.data(), gradient_ranges_, o.clip, scratch_.data(),
                                stream_.get());
  std::vector<WeightDecayRange> tensors;
  tensors.reserve(tensors_.size());
  for (const TensorInstance& t : tensors_) {
    tensors.push_back({t.begin, t.end, decays(t.tensor, o) ? o.weight_decay : 0.0F});
  }
  launch_adamw_per_tensor(parameters_.data(), master_.data(), m_.data(), v_.data(), gradients_.data(), norm,
                          tensors, o.adamw, stream_.get(), o.step_factors, rounding);
}

template <typename T>
void GpuModelOf<T>::optimizer_step(const OptimizerOptions& o) {
  const NvtxRange range("optimizer");
  GradientNorm* norm = &result_.data()->gradient;
  const StochasticRounding rounding{switches().stochastic_rounding, options_.rounding_seed};
  if (switches().optimizer == OptimizerKind::per_tensor) {
    optimizer_step_per_tensor(o, norm, rounding);
  } else {
    optimizer_step_multi(o, norm, rounding);
  }
  if (!fp8_) return;
  fp8_->cast_weights(master_.data(), stream_.get());
  fp8_->update(stream_.get());
}

template <typename T>
void GpuModelOf<T>::optimizer_step_multi(const OptimizerOptions& o, GradientNorm* norm,
                                         const StochasticRounding& rounding) {
  launch_global_norm(norm, gradients_.data(), layout_.total(), o.clip, scratch_.data(), stream_.get(),
                     switches().kernels);
  std::array<WeightDecayRange, kTensorCount> ranges;
  std::size_t count = 0;
  for (int t = 0; t < kTensorCount; ++t) {
    const auto tensor = static_cast<Tensor>(t);
    if (!decays(tensor, o)) continue;
    ranges[count++] = {layout_.offset(tensor), layout_.offset(tensor) + layout_.count(tensor),
                       o.weight_decay};
  }
  launch_adamw(parameters_.data(), master_.data(), m_.data(), v_.data(), gradients_.data(), norm,
               layout_.total(), std::span<const WeightDecayRange>(ranges.data(), count), o.adamw,
               stream_.get(), o.step_factors, {switches().kernels, rounding, 0});
}

template void GpuModelOf<float>::optimizer_step(const OptimizerOptions&);
template void GpuModelOf<bf16>::optimizer_step(const OptimizerOptions&);

}  // namespace ridgeline::gpt2
