#include "gpt2/common/nvtx.h"
#include "gpt2/model/gpu_model_of.h"
#include "gpt2/ops/bias/value_bias_gradient.h"
#include "gpt2/ops/elementwise/fill.h"
#include "gpt2/ops/embedding/encoder.h"
#include "gpt2/ops/loss/cross_entropy.h"

namespace ridgeline::gpt2 {

// The first micro-step's weight GEMMs overwrite the matrices' gradients; whatever only ever accumulates
// starts at zero. wte's gradient is overwritten by the classifier's GEMM before the encoder adds to it.
template <class P>
void GpuModelOf<P>::zero_small_gradients() {
  const auto zero = [&](float* begin, std::int64_t count) {
    launch_zero(begin, count * static_cast<std::int64_t>(sizeof(float)), stream_.get());
  };
  zero(gradient(Tensor::wpe), layout_.embeddings_end() - layout_.offset(Tensor::wpe));
  zero(gradient(Tensor::ln1w), layout_.total() - layout_.vectors_start());
}

template <class P>
void GpuModelOf<P>::completed(int after) {
  if (reduction_) reduction_->completed(after, micro_step_);
}

template <class P>
void GpuModelOf<P>::backward_layer(int l, bool accumulate) {
  const NvtxRange range(layer_names_[static_cast<std::size_t>(l)].c_str());
  const Layer& a = layer(l);
  const LayerTensors<const T> p = weights(l);
  const LayerTensors<float> g = gradients(l);
  const T* dres = act_.stream.template get<T>(live::residual_gradient).data;
  const L2Window kept = keep(dres);
  const bool adds = accumulate && !places_.has_slot(l);

  if (micro_step_.first) linear_->transpose_weights(l);
  linear_->backward_weight(g.fcprojw, linear_->dfcproj(l), linear_->gelu_again(l), adds);
  const Operand dfc = linear_->hidden_gradient(l, accumulate);
  linear_->backward_input(dfc, {Tensor::fcw, l});
  // The column sums of the gradient that leaves a layernorm's backward are the gradient of the bias of the
  // projection that had written into the residual stream just before it.
  linear_->layernorm_backward({dres, g.ln2w, g.ln2b, g.attprojb, a.mid.data, p.ln2w, a.ln2_mean, a.ln2_rstd},
                              Leaves::dattproj, l);
  linear_->backward_weight(g.attprojw, linear_->dattproj(l), linear_->att_again(l), adds);
  linear_->backward_input(linear_->dattproj(l), {Tensor::attprojw, l});
  const Operand dqkv = linear_->qkv_gradient(l, accumulate);
  completed(l);
  linear_->backward_input(dqkv, {Tensor::qkvw, l});
  float* below = l > 0 ? gradients(l - 1).fcprojb : nullptr;
  linear_->layernorm_backward({dres, g.ln1w, g.ln1b, below, a.residual.data, p.ln1w, a.ln1_mean, a.ln1_rstd},
                              l > 0 ? Leaves::dfcproj : Leaves::nothing, l - 1);
}

template <class P>
void GpuModelOf<P>::logits_backward(const std::int32_t* targets, float scale) {
  if (switches().classifier == ClassifierKind::fused) return;
  launch_cross_entropy_backward(act_.logits.template get<T>(live::logits).data, act_.log_probs, targets,
                                scale, rows_, options_.config.vocab, options_.config.padded_vocab,
                                stream_.get(), switches().kernels);
  act_.logits.become(live::logits, live::logits_gradient);
}

template <class P>
void GpuModelOf<P>::backward(const std::int32_t* inputs, bool accumulate) {
  cudaStream_t s = stream_.get();
  const ModelConfig& config = options_.config;
  const int last = config.layers - 1;
  if (micro_step_.first) linear_->transpose_weights(config.layers);
  linear_->classifier_backward(accumulate);
  linear_->layernorm_backward(
      {nullptr, gradient(Tensor::lnfw), gradient(Tensor::lnfb), gradients(last).fcprojb,
       act_.residual_last.data, parameter(Tensor::lnfw), act_.lnf_mean, act_.lnf_rstd},
      Leaves::dfcproj, last);
  for (int l = last; l >= 0; --l) backward_layer(l, accumulate);
  sums_.flush(s);
  if (linear_->value_bias_after_projection()) {
    launch_value_bias_gradient(
        gradient(Tensor::qkvb), gradient(Tensor::attprojb), parameter(Tensor::attprojw), config.layers,
        {layout_.stride(Tensor::qkvb), layout_.stride(Tensor::attprojb), layout_.stride(Tensor::attprojw)},
        c_, s);
  }
  completed(GradientBucket::kVectors);
  launch_encoder_backward(gradient(Tensor::wte), gradient(Tensor::wpe),
                          static_cast<const T*>(act_.stream.template get<T>(live::residual_gradient).data),
                          inputs, options_.batch, options_.sequence, c_, config.vocab,
                          switches().deterministic ? EncoderBackward::deterministic : EncoderBackward::atomic,
                          scratch_.data(), s, switches().kernels);
  completed(GradientBucket::kEmbeddings);
  if (reduction_) reduction_->finish(&result_.data()->loss, micro_step_);
}

#define RIDGELINE_INSTANTIATE(P)                                            \
  template void GpuModelOf<P>::zero_small_gradients();                      \
  template void GpuModelOf<P>::logits_backward(const std::int32_t*, float); \
  template void GpuModelOf<P>::backward(const std::int32_t*, bool);
RIDGELINE_INSTANTIATE(float)
RIDGELINE_INSTANTIATE(bf16)
RIDGELINE_INSTANTIATE(fp8)
#undef RIDGELINE_INSTANTIATE

}  // namespace ridgeline::gpt2
