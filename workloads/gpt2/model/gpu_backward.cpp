#include <type_traits>

#include "gpt2/common/nvtx.h"
#include "gpt2/model/gpu_model_of.h"
#include "gpt2/ops/attention/attention.h"
#include "gpt2/ops/attention/attention_hopper.h"
#include "gpt2/ops/bias/bias_gradient.h"
#include "gpt2/ops/bias/bias_gradient_naive.h"
#include "gpt2/ops/bias/value_bias_gradient.h"
#include "gpt2/ops/elementwise/fill.h"
#include "gpt2/ops/elementwise/gelu.h"
#include "gpt2/ops/elementwise/gelu_bias.h"
#include "gpt2/ops/embedding/encoder.h"
#include "gpt2/ops/loss/cross_entropy.h"
#include "gpt2/ops/matmul/hopper_matmul.h"
#include "gpt2/ops/norm/layernorm.h"

namespace ridgeline::gpt2 {

// The first micro-step's weight products overwrite the matrices' gradients; whatever only ever accumulates
// starts at zero. wte's gradient is overwritten by the classifier's product before the encoder adds to it.
template <typename T>
void GpuModelOf<T>::zero_small_gradients() {
  const auto zero = [&](Tensor first, Tensor last) {
    const std::int64_t end = layout_.offset(last) + layout_.count(last);
    launch_zero(gradient(first), (end - layout_.offset(first)) * static_cast<std::int64_t>(sizeof(float)),
                stream_.get());
  };
  zero(Tensor::wpe, Tensor::ln1b);
  zero(Tensor::qkvb, Tensor::qkvb);
  zero(Tensor::attprojb, Tensor::ln2b);
  zero(Tensor::fcb, Tensor::fcb);
  zero(Tensor::fcprojb, Tensor::lnfb);
}

template <typename T>
void GpuModelOf<T>::bias_gradient(float* dbias, const T* dout, int oc) {
  if (switches().bias_gradient == BiasGradientKind::naive) {
    launch_bias_gradient_naive(dbias, dout, rows_, oc, stream_.get());
    return;
  }
  launch_bias_gradient(dbias, dout, rows_, oc, oc, sums_, stream_.get(), switches().kernels);
}

template <typename T>
const T* GpuModelOf<T>::gelu_again(const Layer& a) {
  if (switches().recompute >= 1) {
    launch_gelu_forward(a.gelu, static_cast<const T*>(a.fch), rows_ * 4 * c_, stream_.get(),
                        switches().kernels);
  }
  return a.gelu;
}

// Into `projected`, which is free until the product that follows writes the gradient of the same layernorm's
// output there; `kept` is the residual stream's gradient by now.
template <typename T>
const T* GpuModelOf<T>::layernorm_again(const T* kept, const T* inp, const T* weight, const T* bias) {
  if (switches().recompute < 2) return kept;
  float* no_statistics = nullptr;
  launch_layernorm_forward(act_.projected, no_statistics, no_statistics, inp, weight, bias, rows_, c_,
                           stream_.get(), switches().kernels);
  return act_.projected;
}

template <typename T>
void GpuModelOf<T>::linear_backward_input(T* dinp, const T* dout, const T* weight, int c, int oc) {
  products_->backward_input(dinp, dout, weight, rows_, c, oc, stream_.get());
}

template <typename T>
void GpuModelOf<T>::weight_gradient(float* dweight, const T* dout, const T* inp, int c, int oc,
                                    bool accumulate) {
  products_->backward_weight(dweight, dout, inp, rows_, c, oc, stream_.get(), accumulate);
}

template <typename T>
void GpuModelOf<T>::weight_and_bias_gradient(float* dweight, float* dbias, const T* dout, const T* inp,
                                             int oc, bool accumulate, bool fused) {
  if (fused) {
    matmul_.backward_weight(dweight, dout, inp, rows_, c_, oc, stream_.get(), accumulate, dbias);
    return;
  }
  bias_gradient(dbias, dout, oc);
  weight_gradient(dweight, dout, inp, c_, oc, accumulate);
}

template <typename T>
void GpuModelOf<T>::qkv_gradients(const Gradients& g, const T* dqkv, const T* inp, bool accumulate) {
  if (!value_bias_behind_projection()) {
    weight_and_bias_gradient(g.qkvw, g.qkvb, dqkv, inp, 3 * c_, accumulate, qkv_bias_fused_[accumulate]);
    return;
  }
  // Of the queries: that of the keys is zero, and that of the values waits for attproj's (value_bias_gradient.h).
  launch_bias_gradient(g.qkvb, dqkv, rows_, c_, std::int64_t{3} * c_, sums_, stream_.get(),
                       switches().kernels);
  weight_gradient(g.qkvw, dqkv, inp, c_, 3 * c_, accumulate);
}

template <typename T>
void GpuModelOf<T>::layernorm_backward(const T* dresidual_in, float* dweight, float* dbias,
                                       float* column_sums, const T* inp, const T* weight, const float* mean,
                                       const float* rstd) {
  const bool sums_apart = switches().bias_gradient == BiasGradientKind::naive && column_sums != nullptr;
  launch_layernorm_backward(act_.dresidual, dresidual_in, dweight, dbias, sums_apart ? nullptr : column_sums,
                            static_cast<const T*>(act_.projected), inp, weight, mean, rstd, rows_, c_, sums_,
                            stream_.get(), switches().kernels);
  if (sums_apart) bias_gradient(column_sums, act_.dresidual, c_);
}

template <typename T>
void GpuModelOf<T>::mlp_down_backward(const Layer& a, const Weights& p, const Gradients& g, const T* dout,
                                      bool accumulate) {
  cudaStream_t s = stream_.get();
  T* dfch = act_.dwide;
  const T* fch = a.fch;
  // By what applies the GELU's derivative, unless a bias gradient of another kind was asked for by name.
  bool bias_is_done = false;
  if (switches().gelu == GeluKind::own) {
    if constexpr (std::is_same_v<T, bf16>) {
      bias_is_done = switches().bias_gradient == BiasGradientKind::separate;
      launch_hopper_matmul_backward_input(dfch, bias_is_done ? g.fcb : nullptr, dout, p.fcprojw, a.gelu_slope,
                                          rows_, c_, 4 * c_, sums_, s);
    }
  } else if (switches().gelu == GeluKind::fused) {
    matmul_.backward_input(dfch, dout, p.fcprojw, rows_, 4 * c_, c_, s, fch);
  } else {
    linear_backward_input(dfch, dout, p.fcprojw, 4 * c_, c_);
    const T* dgelu = dfch;
    bias_is_done = switches().bias_gradient == BiasGradientKind::separate &&
                   switches().kernels == KernelWidth::packed && gelu_bias_backward_supported<T>(4 * c_);
    if (bias_is_done) {
      launch_gelu_bias_backward(dfch, g.fcb, fch, dgelu, rows_, 4 * c_, sums_, s);
    } else {
      launch_gelu_backward(dfch, fch, dgelu, rows_ * 4 * c_, s, switches().kernels);
    }
  }
  const T* ln2 = layernorm_again(a.ln2, a.mid, p.ln2w, p.ln2b);
  if (bias_is_done) {
    weight_gradient(g.fcw, dfch, ln2, c_, 4 * c_, accumulate);
  } else {
    weight_and_bias_gradient(g.fcw, g.fcb, dfch, ln2, 4 * c_, accumulate, fc_bias_fused_[accumulate]);
  }
}

template <typename T>
void GpuModelOf<T>::attention_backward(const Layer& a, const T* dout) {
  const ModelConfig& config = options_.config;
  if (unfused_) {
    unfused_->backward(act_.dwide, dout, static_cast<const T*>(a.heads),
                       static_cast<const T*>(a.probabilities), act_.attention_scratch, attention_shape(),
                       stream_.get());
    return;
  }
  if constexpr (std::is_same_v<T, bf16>) {
    if (cudnn_) {
      cudnn_->backward(act_.dwide, dout, a.qkv, a.att, a.lse, options_.batch, options_.sequence, config.heads,
                       config.head_size(), stream_.get());
      return;
    }
    if (switches().attention == AttentionKind::hopper) {
      launch_hopper_attention_backward(act_.dwide, dout, a.qkv, a.att, a.lse, options_.batch,
                                       options_.sequence, config.heads, config.head_size(), scratch_.data(),
                                       switches().deterministic, stream_.get());
      return;
    }
  }
  launch_attention_backward(act_.dwide, dout, static_cast<const T*>(a.qkv), static_cast<const T*>(a.att),
                            a.lse, options_.batch, options_.sequence, config.heads, config.head_size(),
                            scratch_.data(), stream_.get());
}

template <typename T>
void GpuModelOf<T>::backward_layer(int l, bool accumulate) {
  const NvtxRange range(layer_names_[static_cast<std::size_t>(l)].c_str());
  if constexpr (std::is_same_v<T, bf16>) {
    if (fp8_) {
      backward_layer_fp8(l, accumulate);
      return;
    }
  }
  const Layer& a = act_.layers[static_cast<std::size_t>(l)];
  const Weights p = weights(l);
  const Gradients g = layer_tensors(gradients_.data(), layout_, l);
  const T* dres = act_.dresidual;
  T* dln = act_.projected;
  const T* dwide = act_.dwide;

  const auto kept = keep(dres);
  weight_gradient(g.fcprojw, dres, gelu_again(a), 4 * c_, c_, accumulate);
  mlp_down_backward(a, p, g, dres, accumulate);
  linear_backward_input(dln, dwide, p.fcw, c_, 4 * c_);
  // The column sums of the gradient that leaves a layernorm's backward are the gradient of the bias of the
  // projection that had written into the residual stream just before it.
  layernorm_backward(dres, g.ln2w, g.ln2b, g.attprojb, a.mid, p.ln2w, a.ln2_mean, a.ln2_rstd);
  weight_gradient(g.attprojw, dres, a.att, c_, c_, accumulate);
  linear_backward_input(dln, dres, p.attprojw, c_, c_);
  attention_backward(a, dln);
  const T* ln1 = layernorm_again(a.ln1, a.residual, p.ln1w, p.ln1b);
  qkv_gradients(g, dwide, ln1, accumulate);
  linear_backward_input(dln, dwide, p.qkvw, c_, 3 * c_);
  float* below = l > 0 ? layer_tensors(gradients_.data(), layout_, l - 1).fcprojb : nullptr;
  layernorm_backward(dres, g.ln1w, g.ln1b, below, a.residual, p.ln1w, a.ln1_mean, a.ln1_rstd);
}

template <typename T>
void GpuModelOf<T>::classifier_backward(const std::int32_t* targets, float scale) {
  if (switches().classifier == ClassifierKind::fused) return;
  launch_cross_entropy_backward(act_.logits, act_.log_probs, targets, scale, rows_, options_.config.vocab,
                                options_.config.padded_vocab, stream_.get(), switches().kernels);
}

template <typename T>
void GpuModelOf<T>::last_layernorm_backward() {
  if constexpr (std::is_same_v<T, bf16>) {
    if (fp8_) {
      last_layernorm_backward_fp8();
      return;
    }
  }
  const auto last = layer_tensors(gradients_.data(), layout_, options_.config.layers - 1);
  layernorm_backward(nullptr, gradient(Tensor::lnfw), gradient(Tensor::lnfb), last.fcprojb,
                     act_.residual_last, parameter(Tensor::lnfw), act_.lnf_mean, act_.lnf_rstd);
}

template <typename T>
void GpuModelOf<T>::classifier_products_backward(bool accumulate) {
  if constexpr (std::is_same_v<T, bf16>) {
    if (switches().fp8_classifier == Fp8Classifier::all) {
      classifier_products_backward_fp8(accumulate);
      return;
    }
  }
  const int vp = options_.config.padded_vocab;
  const T* dlogits = act_.logits;
  weight_gradient(gradient(Tensor::wte), dlogits, act_.lnf, c_, vp, accumulate);
  linear_backward_input(act_.projected, dlogits, parameter(Tensor::wte), c_, vp);
}

template <typename T>
void GpuModelOf<T>::backward(const std::int32_t* inputs, bool accumulate) {
  cudaStream_t s = stream_.get();
  const ModelConfig& config = options_.config;
  classifier_products_backward(accumulate);
  last_layernorm_backward();
  for (int l = config.layers - 1; l >= 0; --l) backward_layer(l, accumulate);
  sums_.flush(s);
  if (value_bias_behind_projection()) {
    launch_value_bias_gradient(gradient(Tensor::qkvb), gradient(Tensor::attprojb),
                               parameter(Tensor::attprojw), config.layers, c_, s);
  }
  launch_encoder_backward(gradient(Tensor::wte), gradient(Tensor::wpe), static_cast<const T*>(act_.dresidual),
                          inputs, options_.batch, options_.sequence, c_, config.vocab,
                          switches().deterministic ? EncoderBackward::deterministic : EncoderBackward::atomic,
                          scratch_.data(), s, switches().kernels);
}

// What gpu_forward.cpp and gpu_fp8.cpp call.
template void GpuModelOf<bf16>::attention_backward(const Layer&, const bf16*);
template void GpuModelOf<bf16>::layernorm_backward(const bf16*, float*, float*, float*, const bf16*,
                                                   const bf16*, const float*, const float*);
template void GpuModelOf<float>::zero_small_gradients();
template void GpuModelOf<bf16>::zero_small_gradients();
template void GpuModelOf<float>::classifier_backward(const std::int32_t*, float);
template void GpuModelOf<bf16>::classifier_backward(const std::int32_t*, float);
template void GpuModelOf<float>::backward(const std::int32_t*, bool);
template void GpuModelOf<bf16>::backward(const std::int32_t*, bool);

}  // namespace ridgeline::gpt2
