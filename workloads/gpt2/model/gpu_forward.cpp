#include "gpt2/common/nvtx.h"
#include "gpt2/model/gpu_model_of.h"
#include "gpt2/ops/elementwise/residual.h"
#include "gpt2/ops/embedding/encoder.h"
#include "gpt2/ops/loss/classifier.h"
#include "gpt2/ops/loss/cross_entropy.h"
#include "gpt2/ops/loss/loss_sum.h"
#include "gpt2/ops/norm/layernorm.h"

namespace ridgeline::gpt2 {
template <class P>
void GpuModelOf<P>::project(T* residual, const T* in1, const Operand& inp, const Weight& weight,
                            const T* bias) {
  if (switches().residual == ResidualKind::gemm) {
    linear_->forward_residual(residual, in1, inp, weight, bias);
  } else {
    linear_->forward(act_.narrow.template get<T>(live::projection).data, inp, weight, bias);
  }
}

template <class P>
template <class Out>
void GpuModelOf<P>::residual_layernorm(T* residual, const Out& out, float* mean, float* rstd, const T* in1,
                                       const T* weight, const T* bias) {
  cudaStream_t s = stream_.get();
  const KernelWidth width = switches().kernels;
  if (switches().residual != ResidualKind::gemm) {
    const T* in2 = act_.narrow.template get<T>(live::projection).data;
    if (switches().residual == ResidualKind::fused) {
      launch_residual_layernorm_forward(residual, out, mean, rstd, in1, in2, weight, bias, rows_, c_, s,
                                        width);
      return;
    }
    launch_residual_forward(residual, in1, in2, rows_ * c_, s, width);
  }
  launch_layernorm_forward(out, mean, rstd, static_cast<const T*>(residual), weight, bias, rows_, c_, s,
                           width);
}

template <class P>
void GpuModelOf<P>::forward_layer(int l) {
  const NvtxRange range(layer_names_[static_cast<std::size_t>(l)].c_str());
  const Layer& a = layer(l);
  const LayerTensors<const T> p = weights(l);

  T* qkv = a.qkv.data != nullptr ? a.qkv.data : act_.wide.template begin<T>(live::qkv, rows_, 3 * c_).data;
  linear_->forward(qkv, linear_->ln1(l), {Tensor::qkvw, l}, p.qkvb);
  const Operand att = linear_->attend(l, qkv);
  {  // Written by a GEMM and read at once by the op after it; so below.
    const L2Window kept = keep(left_by_projection(a.mid.data));
    project(a.mid.data, a.residual.data, att, {Tensor::attprojw, l}, p.attprojb);
    residual_layernorm(a.mid.data, linear_->begin_ln2(l), a.ln2_mean, a.ln2_rstd, a.residual.data, p.ln2w,
                       p.ln2b);
  }
  const Operand gelu = linear_->mlp_up(l);
  T* out = residual_after(l);
  const L2Window kept = keep(left_by_projection(out));
  project(out, a.mid.data, gelu, {Tensor::fcprojw, l}, p.fcprojb);
  if (l + 1 < options_.config.layers) {
    const Layer& next = layer(l + 1);
    const LayerTensors<const T> q = weights(l + 1);
    residual_layernorm(out, linear_->begin_ln1(l + 1), next.ln1_mean, next.ln1_rstd, a.mid.data, q.ln1w,
                       q.ln1b);
  } else {
    residual_layernorm(out, act_.lnf.data, act_.lnf_mean, act_.lnf_rstd, a.mid.data, parameter(Tensor::lnfw),
                       parameter(Tensor::lnfb));
  }
}

template <class P>
void GpuModelOf<P>::forward_to_logits(const std::int32_t* inputs, bool gathers) {
  ParameterGathers* begun = gathers ? layer_gathers() : nullptr;
  if (begun != nullptr) begun->begin_forward();
  const Layer& first = layer(0);
  const LayerTensors<const T> p = weights(0);
  launch_encoder_forward(first.residual.data, inputs, parameter(Tensor::wte), parameter(Tensor::wpe),
                         options_.batch, options_.sequence, c_, stream_.get(), switches().kernels);
  launch_layernorm_forward(linear_->begin_ln1(0), first.ln1_mean, first.ln1_rstd,
                           static_cast<const T*>(first.residual.data), p.ln1w, p.ln1b, rows_, c_,
                           stream_.get(), switches().kernels);
  for (int l = 0; l < options_.config.layers; ++l) {
    if (begun != nullptr) begun->before_layer(l);
    forward_layer(l);
  }
  if (begun != nullptr) begun->before_layer(options_.config.layers);
  linear_->logits();
  if (begun != nullptr) begun->before_backward();
}

template <class P>
void GpuModelOf<P>::classifier(const std::int32_t* targets, float scale) {
  if (switches().classifier == ClassifierKind::fused) {
    linear_->fused_classifier(targets, scale);
  } else {
    classifier_loss(targets);
  }
}

template <class P>
void GpuModelOf<P>::classifier_loss(const std::int32_t* targets) {
  const int vocab = options_.config.vocab;
  const int padded_vocab = options_.config.padded_vocab;
  const T* logits = act_.logits.template get<T>(live::logits).data;
  cudaStream_t s = stream_.get();
  if (switches().classifier == ClassifierKind::fused) {
    launch_classifier_loss(act_.losses, logits, targets, rows_, vocab, padded_vocab, s, switches().kernels);
    return;
  }
  launch_log_softmax(act_.log_probs, logits, rows_, vocab, padded_vocab, s, switches().kernels);
  launch_cross_entropy(act_.losses, act_.log_probs, targets, rows_, vocab, padded_vocab, s);
}

template <class P>
void GpuModelOf<P>::micro_step(const std::int32_t* inputs, const std::int32_t* targets, int micro) {
  const float scale = loss_scale(options_.grad_accum);
  const bool accumulate = micro > 0;
  micro_step_ = {micro == 0, micro + 1 == options_.grad_accum};
  linear_->set_recording(true);
  {
    const NvtxRange range("forward");
    forward_to_logits(inputs, !accumulate);
    classifier(targets, scale);
    launch_loss_sum(&result_.data()->loss, act_.losses, rows_, scale, accumulate, stream_.get());
  }
  {
    const NvtxRange range("backward");
    if (!accumulate) zero_small_gradients();
    logits_backward(targets, scale);
    backward(inputs, accumulate);
  }
}

template <class P>
void GpuModelOf<P>::evaluate(const std::int32_t* inputs, const std::int32_t* targets) {
  const NvtxRange range("evaluate");
  linear_->set_recording(false);
  forward_to_logits(inputs, true);
  classifier_loss(targets);
  launch_loss_sum(&result_.data()->loss, act_.losses, rows_, loss_scale(1), false, stream_.get());
  if (options_.communicator != nullptr) {
    options_.communicator->all_reduce_sum(&result_.data()->loss, 1, stream_.get());
  }
}

#define RIDGELINE_INSTANTIATE(P)                                                          \
  template void GpuModelOf<P>::forward_to_logits(const std::int32_t*, bool);              \
  template void GpuModelOf<P>::micro_step(const std::int32_t*, const std::int32_t*, int); \
  template void GpuModelOf<P>::evaluate(const std::int32_t*, const std::int32_t*);
RIDGELINE_INSTANTIATE(float)
RIDGELINE_INSTANTIATE(bf16)
RIDGELINE_INSTANTIATE(fp8)
#undef RIDGELINE_INSTANTIATE

}  // namespace ridgeline::gpt2
