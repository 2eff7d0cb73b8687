#include <algorithm>
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

template <class P>
void GpuModelOf<P>::optimizer_step_per_tensor(const OptimizerOptions& o, GradientNorm* norm,
                                              const StochasticRounding& rounding) {
  std::vector<GradientRange> gradients;
  std::vector<WeightDecayRange> tensors;
  for (const TensorInstance& t : tensors_) {
    gradients.push_back({t.begin, t.end});
    tensors.push_back({t.begin, t.end, decays(t.tensor, o) ? o.weight_decay : 0.0F});
  }
  launch_global_norm_per_tensor(norm, gradients_.data(), gradients, o.clip, scratch_.data(), stream_.get());
  launch_adamw_per_tensor(parameters_.data(), master_.data(), m_.data(), v_.data(), gradients_.data(), norm,
                          tensors, o.adamw, stream_.get(), o.step_factors, rounding);
}

template <class P>
void GpuModelOf<P>::optimizer_step_multi(const OptimizerOptions& o, GradientNorm* norm,
                                         const StochasticRounding& rounding) {
  launch_global_norm(norm, gradients_.data(), layout_.total(), o.clip, scratch_.data(), stream_.get(),
                     switches().kernels);
  // What decays are the matrices, which come first; the embeddings before the others.
  const WeightDecayRange decayed{o.decay_embeddings ? 0 : layout_.embeddings_end(), layout_.vectors_start(),
                                 o.weight_decay};
  launch_adamw(parameters_.data(), master_.data(), m_.data(), v_.data(), gradients_.data(), norm,
               layout_.total(), {&decayed, 1}, o.adamw, stream_.get(), o.step_factors,
               {switches().kernels, rounding, 0});
}

// In the order of the gathers, so that one bucket's parameters travel while the next is updated.
template <class P>
void GpuModelOf<P>::optimizer_step_sharded(const OptimizerOptions& o, GradientNorm* norm,
                                           const StochasticRounding& rounding) {
  const int rank = reduction_->communicator().rank();
  std::vector<GradientRange> own;
  for (std::size_t bucket = 0; bucket < own_parts_.size(); ++bucket) {
    const std::int64_t begin = places_.own(bucket, rank);
    own.push_back({begin, begin + own_parts_[bucket].count()});
  }
  launch_squared_sum(squared_sum_.data(), gradients_.data(), own, scratch_.data(), stream_.get());
  reduction_->communicator().all_reduce_sum(squared_sum_.data(), 1, stream_.get());
  launch_norm_of_squares(norm, squared_sum_.data(), o.clip, stream_.get());

  const std::int64_t decay_begin = o.decay_embeddings ? 0 : layout_.embeddings_end();
  for (const std::size_t bucket : gathers_->plan().order) {
    const Shards::Part& part = own_parts_[bucket];
    const std::int64_t first = std::clamp(decay_begin, part.begin, part.end) - part.begin;
    const std::int64_t last = std::clamp(layout_.vectors_start(), part.begin, part.end) - part.begin;
    const WeightDecayRange decayed{std::min(first, last), last, o.weight_decay};
    T* parameters = parameters_.data() + part.begin;
    float* master = master_.size() > 0 ? master_.data() + part.packed : nullptr;
    launch_adamw(parameters, master, m_.data() + part.packed, v_.data() + part.packed,
                 gradients_.data() + own[bucket].begin, norm, part.count(), {&decayed, 1}, o.adamw,
                 stream_.get(), o.step_factors, {switches().kernels, rounding, part.begin});
    gathers_->updated(bucket);
  }
  gathers_->finish_update();
}

template <class P>
void GpuModelOf<P>::optimizer_step(const OptimizerOptions& o) {
  const NvtxRange range("optimizer");
  GradientNorm* norm = &result_.data()->gradient;
  const StochasticRounding rounding{switches().stochastic_rounding, options_.rounding_seed};
  if (!shards_.empty()) {
    optimizer_step_sharded(o, norm, rounding);
  } else if (switches().optimizer == OptimizerKind::per_tensor) {
    optimizer_step_per_tensor(o, norm, rounding);
  } else {
    optimizer_step_multi(o, norm, rounding);
  }
  if (options_.communicator != nullptr) linear_->share_magnitudes(*options_.communicator);
  linear_->end_step(master());
}

template void GpuModelOf<float>::optimizer_step(const OptimizerOptions&);
template void GpuModelOf<bf16>::optimizer_step(const OptimizerOptions&);
template void GpuModelOf<fp8>::optimizer_step(const OptimizerOptions&);

}  // namespace ridgeline::gpt2
