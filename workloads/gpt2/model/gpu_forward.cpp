#include <type_traits>

#include "gpt2/common/nvtx.h"
#include "gpt2/model/gpu_model_of.h"
#include "gpt2/ops/attention/attention.h"
#include "gpt2/ops/attention/attention_hopper.h"
#include "gpt2/ops/bias/add_bias.h"
#include "gpt2/ops/elementwise/gelu.h"
#include "gpt2/ops/elementwise/residual.h"
#include "gpt2/ops/embedding/encoder.h"
#include "gpt2/ops/loss/classifier.h"
#include "gpt2/ops/loss/cross_entropy.h"
#include "gpt2/ops/loss/loss_sum.h"
#include "gpt2/ops/matmul/hopper_matmul.h"
#include "gpt2/ops/norm/layernorm.h"

namespace ridgeline::gpt2 {

template <typename T>
void GpuModelOf<T>::linear(T* out, const T* inp, const T* weight, const T* bias, int c, int oc) {
  if (bias != nullptr && switches().bias == BiasKind::fused) {
    matmul_.forward(out, inp, weight, bias, rows_, c, oc, stream_.get());
    return;
  }
  products_->forward(out, inp, weight, rows_, c, oc, stream_.get());
  if (bias != nullptr) launch_add_bias(out, bias, rows_, oc, switches().kernels, stream_.get());
}

template <typename T>
void GpuModelOf<T>::attention(const Layer& a) {
  const ModelConfig& config = options_.config;
  if (unfused_) {
    unfused_->forward(a.att, a.heads, a.probabilities, static_cast<const T*>(a.qkv), act_.attention_scratch,
                      attention_shape(), stream_.get());
    return;
  }
  if constexpr (std::is_same_v<T, bf16>) {
    if (cudnn_) {
      cudnn_->forward(a.att, a.lse, a.qkv, options_.batch, options_.sequence, config.heads,
                      config.head_size(), stream_.get());
      return;
    }
    if (switches().attention == AttentionKind::hopper) {
      launch_hopper_attention_forward(a.att, a.lse, a.qkv, options_.batch, options_.sequence, config.heads,
                                      config.head_size(), stream_.get());
      return;
    }
  }
  launch_attention_forward(a.att, a.lse, static_cast<const T*>(a.qkv), options_.batch, options_.sequence,
                           config.heads, config.head_size(), stream_.get());
}

template <typename T>
void GpuModelOf<T>::project(T* residual, const T* in1, const T* inp, const T* weight, const T* bias, int c) {
  if (switches().residual != ResidualKind::product) {
    linear(act_.projected, inp, weight, bias, c, c_);
    return;
  }
  matmul_.forward_residual(residual, in1, inp, weight, bias, rows_, c, c_, stream_.get());
}

template <typename T>
void GpuModelOf<T>::residual_layernorm(T* residual, T* normed, float* mean, float* rstd, const T* in1,
                                       const T* weight, const T* bias) {
  cudaStream_t s = stream_.get();
  const KernelWidth width = switches().kernels;
  const T* in2 = act_.projected;
  if (switches().residual == ResidualKind::fused) {
    launch_residual_layernorm_forward(residual, normed, mean, rstd, in1, in2, weight, bias, rows_, c_, s,
                                      width);
    return;
  }
  if (switches().residual == ResidualKind::separate) {
    launch_residual_forward(residual, in1, in2, rows_ * c_, s, width);
  }
  launch_layernorm_forward(normed, mean, rstd, static_cast<const T*>(residual), weight, bias, rows_, c_, s,
                           width);
}

template <typename T>
void GpuModelOf<T>::mlp_up(const Layer& a, const Weights& p) {
  const T* inp = a.ln2;
  if constexpr (std::is_same_v<T, bf16>) {
    if (switches().gelu == GeluKind::own) {
      launch_hopper_matmul_forward(a.gelu, a.gelu_slope, inp, p.fcw, p.fcb, rows_, c_, 4 * c_, stream_.get());
      return;
    }
  }
  if (switches().gelu == GeluKind::fused) {
    matmul_.forward(a.gelu, inp, p.fcw, p.fcb, rows_, c_, 4 * c_, stream_.get(), MatmulEpilogue::gelu, a.fch);
    return;
  }
  linear(a.fch, inp, p.fcw, p.fcb, c_, 4 * c_);
  launch_gelu_forward(a.gelu, static_cast<const T*>(a.fch), rows_ * 4 * c_, stream_.get(),
                      switches().kernels);
}

template <typename T>
void GpuModelOf<T>::first_layernorm() {
  if constexpr (std::is_same_v<T, bf16>) {
    if (fp8_) {
      first_layernorm_fp8();
      return;
    }
  }
  const Layer& first = act_.layers.front();
  const Weights p = weights(0);
  launch_layernorm_forward(first.ln1, first.ln1_mean, first.ln1_rstd, static_cast<const T*>(first.residual),
                           p.ln1w, p.ln1b, rows_, c_, stream_.get(), switches().kernels);
}

template <typename T>
void GpuModelOf<T>::forward_layer(int l) {
  const NvtxRange range(layer_names_[static_cast<std::size_t>(l)].c_str());
  if constexpr (std::is_same_v<T, bf16>) {
    if (fp8_) {
      forward_layer_fp8(l);
      return;
    }
  }
  const ModelConfig& config = options_.config;
  const Layer& a = act_.layers[static_cast<std::size_t>(l)];
  const Weights p = weights(l);

  linear(a.qkv, a.ln1, p.qkvw, p.qkvb, c_, 3 * c_);
  attention(a);
  {  // Written by a product and read at once by the op behind it; so below.
    const auto kept = keep(left_by_projection(a.mid));
    project(a.mid, a.residual, a.att, p.attprojw, p.attprojb, c_);
    residual_layernorm(a.mid, a.ln2, a.ln2_mean, a.ln2_rstd, a.residual, p.ln2w, p.ln2b);
  }
  mlp_up(a, p);
  T* out = residual_behind(l);
  const auto kept = keep(left_by_projection(out));
  project(out, a.mid, a.gelu, p.fcprojw, p.fcprojb, 4 * c_);
  if (l + 1 < config.layers) {
    const Layer& next = act_.layers[static_cast<std::size_t>(l) + 1];
    const Weights q = weights(l + 1);
    residual_layernorm(out, next.ln1, next.ln1_mean, next.ln1_rstd, a.mid, q.ln1w, q.ln1b);
  } else {
    residual_layernorm(out, act_.lnf, act_.lnf_mean, act_.lnf_rstd, a.mid, parameter(Tensor::lnfw),
                       parameter(Tensor::lnfb));
  }
}

template <typename T>
void GpuModelOf<T>::classifier_product() {
  if constexpr (std::is_same_v<T, bf16>) {
    if (switches().fp8_classifier != Fp8Classifier::none) {
      classifier_product_fp8();
      return;
    }
  }
  linear(act_.logits, act_.lnf, parameter(Tensor::wte), nullptr, c_, options_.config.padded_vocab);
}

template <typename T>
void GpuModelOf<T>::forward_to_logits(const std::int32_t* inputs) {
  const ModelConfig& config = options_.config;
  launch_encoder_forward(act_.layers.front().residual, inputs, parameter(Tensor::wte), parameter(Tensor::wpe),
                         options_.batch, options_.sequence, c_, stream_.get(), switches().kernels);
  first_layernorm();
  for (int l = 0; l < config.layers; ++l) forward_layer(l);
  classifier_product();
}

template <typename T>
void GpuModelOf<T>::classifier(const std::int32_t* targets, float scale) {
  if (switches().classifier == ClassifierKind::separate) {
    classifier_loss(targets);
    return;
  }
  if constexpr (std::is_same_v<T, bf16>) {
    if (switches().fp8_classifier == Fp8Classifier::all) {
      classifier_fp8(targets, scale);
      return;
    }
  }
  launch_fused_classifier(act_.logits, act_.losses, targets, scale, rows_, options_.config.vocab,
                          options_.config.padded_vocab, stream_.get(), switches().kernels);
}

template <typename T>
void GpuModelOf<T>::classifier_loss(const std::int32_t* targets) {
  const int vocab = options_.config.vocab;
  const int padded_vocab = options_.config.padded_vocab;
  const T* logits = act_.logits;
  cudaStream_t s = stream_.get();
  if (switches().classifier == ClassifierKind::fused) {
    launch_classifier_loss(act_.losses, logits, targets, rows_, vocab, padded_vocab, s, switches().kernels);
    return;
  }
  launch_log_softmax(act_.log_probs, logits, rows_, vocab, padded_vocab, s, switches().kernels);
  launch_cross_entropy(act_.losses, act_.log_probs, targets, rows_, vocab, padded_vocab, s);
}

template <typename T>
void GpuModelOf<T>::micro_step(const std::int32_t* inputs, const std::int32_t* targets, int micro) {
  const float scale = 1.0F / (static_cast<float>(rows_) * static_cast<float>(options_.grad_accum));
  const bool accumulate = micro > 0;
  if (fp8_) fp8_->set_recording(true);
  {
    const NvtxRange range("forward");
    forward_to_logits(inputs);
    classifier(targets, scale);
    launch_loss_sum(&result_.data()->loss, act_.losses, rows_, scale, accumulate, stream_.get());
  }
  {
    const NvtxRange range("backward");
    if (!accumulate) zero_small_gradients();
    classifier_backward(targets, scale);
    backward(inputs, accumulate);
  }
}

template <typename T>
void GpuModelOf<T>::evaluate(const std::int32_t* inputs, const std::int32_t* targets) {
  const NvtxRange range("evaluate");
  if (fp8_) fp8_->set_recording(false);
  forward_to_logits(inputs);
  classifier_loss(targets);
  launch_loss_sum(&result_.data()->loss, act_.losses, rows_, 1.0F / static_cast<float>(rows_), false,
                  stream_.get());
}

// What gpu_fp8.cpp calls.
template void GpuModelOf<bf16>::attention(const Layer&);
template void GpuModelOf<bf16>::residual_layernorm(bf16*, bf16*, float*, float*, const bf16*, const bf16*,
                                                   const bf16*);
template void GpuModelOf<float>::micro_step(const std::int32_t*, const std::int32_t*, int);
template void GpuModelOf<bf16>::micro_step(const std::int32_t*, const std::int32_t*, int);
template void GpuModelOf<float>::evaluate(const std::int32_t*, const std::int32_t*);
template void GpuModelOf<bf16>::evaluate(const std::int32_t*, const std::int32_t*);

}  // namespace ridgeline::gpt2
