// A layer with its four linear products in FP8, forward and backward. What is stored as FP8 is so by the kernel that
// computes it, in both orientations; attention reads bfloat16, and where its kernel does not write FP8 its output
// and its gradient are cast on their way. What stands between a product and GELU is bfloat16 too, or FP8 in
// one orientation.
#include "gpt2/common/nvtx.h"
#include "gpt2/model/gpu_model_of.h"
#include "gpt2/ops/attention/attention_hopper.h"
#include "gpt2/ops/bias/bias_gradient_fp8.h"
#include "gpt2/ops/elementwise/residual.h"
#include "gpt2/ops/fp8/cast_transpose.h"
#include "gpt2/ops/loss/classifier.h"
#include "gpt2/ops/norm/layernorm_fp8.h"

namespace ridgeline::gpt2 {

template <>
void GpuModelOf<bf16>::linear_fp8(bf16* out, Fp8Tensor inp, const std::uint8_t* data, Tensor weight, int l,
                                  const bf16* bias, int c, int oc) {
  matmul_.forward_fp8(out, fp8_->operand(inp, l, data), fp8_->weight(weight, l), bias, rows_, c, oc,
                      kFastForward, stream_.get());
}

template <>
void GpuModelOf<bf16>::project_fp8(bf16* residual, const bf16* in1, Fp8Tensor inp, const std::uint8_t* data,
                                   Tensor weight, int l, const bf16* bias, int c) {
  if (switches().residual != ResidualKind::product) {
    linear_fp8(act_.projected, inp, data, weight, l, bias, c, c_);
    return;
  }
  matmul_.forward_residual_fp8(residual, in1, fp8_->operand(inp, l, data), fp8_->weight(weight, l), bias,
                               rows_, c, c_, kFastForward, stream_.get());
}

template <>
void GpuModelOf<bf16>::first_layernorm_fp8() {
  const Layer& first = act_.layers.front();
  const Weights p = weights(0);
  launch_layernorm_forward_fp8(fp8_->output(Fp8Tensor::ln1, 0, act_.narrow, first.ln1_transposed),
                               first.ln1_mean, first.ln1_rstd, first.residual, p.ln1w, p.ln1b, rows_, c_,
                               stream_.get());
}

template <>
void GpuModelOf<bf16>::residual_layernorm_fp8(bf16* residual, const Fp8Output& normed, float* mean,
                                              float* rstd, const bf16* in1, const bf16* weight,
                                              const bf16* bias) {
  cudaStream_t s = stream_.get();
  const bf16* in2 = act_.projected;
  if (switches().residual == ResidualKind::fused) {
    launch_residual_layernorm_forward_fp8(residual, normed, mean, rstd, in1, in2, weight, bias, rows_, c_, s);
    return;
  }
  if (switches().residual == ResidualKind::separate) {
    launch_residual_forward(residual, in1, in2, rows_ * c_, s, switches().kernels);
  }
  launch_layernorm_forward_fp8(normed, mean, rstd, residual, weight, bias, rows_, c_, s);
}

template <>
void GpuModelOf<bf16>::mlp_up_fp8(int l) {
  cudaStream_t s = stream_.get();
  const Layer& a = act_.layers[static_cast<std::size_t>(l)];
  const Weights p = weights(l);
  const Fp8Output gelu = fp8_->output(Fp8Tensor::gelu, l, act_.wide, a.gelu_transposed);
  if (switches().fp8_hidden == Fp8Hidden::bf16) {
    linear_fp8(a.fch, Fp8Tensor::ln2, act_.narrow, Tensor::fcw, l, p.fcb, c_, 4 * c_);
    launch_fp8_gelu(gelu, a.fch, rows_, 4 * c_, s);
    return;
  }
  matmul_.forward_fp8(fp8_->result(Fp8Tensor::fch, l, a.fch_fp8),
                      fp8_->operand(Fp8Tensor::ln2, l, act_.narrow), fp8_->weight(Tensor::fcw, l), p.fcb,
                      rows_, c_, 4 * c_, kFastForward, s);
  launch_fp8_gelu(gelu, fp8_->fresh_input(Fp8Tensor::fch, l, a.fch_fp8), rows_, 4 * c_, s);
}

// The own kernel for Hopper casts what it has in registers; behind another a pass does.
template <>
void GpuModelOf<bf16>::attention_fp8(const Layer& a, const Fp8Output& out) {
  const ModelConfig& config = options_.config;
  if (switches().attention == AttentionKind::hopper &&
      hopper_attention_fp8_supported(options_.batch, options_.sequence, config.heads, config.head_size())) {
    launch_hopper_attention_forward_fp8(a.att, out, a.lse, a.qkv, options_.batch, options_.sequence,
                                        config.heads, config.head_size(), stream_.get());
    return;
  }
  attention(a);
  launch_fp8_cast(out, Fp8Format::e4m3, nullptr, a.att, rows_, c_, nullptr, stream_.get());
}

template <>
void GpuModelOf<bf16>::forward_layer_fp8(int l) {
  const Layer& a = act_.layers[static_cast<std::size_t>(l)];
  const Weights p = weights(l);

  linear_fp8(a.qkv, Fp8Tensor::ln1, act_.narrow, Tensor::qkvw, l, p.qkvb, c_, 3 * c_);
  attention_fp8(a, fp8_->output(Fp8Tensor::att, l, act_.narrow, a.att_transposed));
  project_fp8(a.mid, a.residual, Fp8Tensor::att, act_.narrow, Tensor::attprojw, l, p.attprojb, c_);
  residual_layernorm_fp8(a.mid, fp8_->output(Fp8Tensor::ln2, l, act_.narrow, a.ln2_transposed), a.ln2_mean,
                         a.ln2_rstd, a.residual, p.ln2w, p.ln2b);
  mlp_up_fp8(l);
  bf16* out = residual_behind(l);
  project_fp8(out, a.mid, Fp8Tensor::gelu, act_.wide, Tensor::fcprojw, l, p.fcprojb, 4 * c_);
  if (l + 1 < options_.config.layers) {
    const Layer& next = act_.layers[static_cast<std::size_t>(l) + 1];
    const Weights q = weights(l + 1);
    residual_layernorm_fp8(out, fp8_->output(Fp8Tensor::ln1, l + 1, act_.narrow, next.ln1_transposed),
                           next.ln1_mean, next.ln1_rstd, a.mid, q.ln1w, q.ln1b);
  } else {  // the classifier's product is in bf16
    residual_layernorm(out, act_.lnf, act_.lnf_mean, act_.lnf_rstd, a.mid, parameter(Tensor::lnfw),
                       parameter(Tensor::lnfb));
  }
}

template <>
void GpuModelOf<bf16>::classifier_product_fp8() {
  // lnf transposed is kept for the backward pass if it multiplies in FP8.
  launch_fp8_cast(fp8_->output(Fp8Tensor::lnf, 0, act_.narrow, act_.lnf_transposed), Fp8Format::e4m3, nullptr,
                  act_.lnf, rows_, c_, nullptr, stream_.get());
  linear_fp8(act_.logits, Fp8Tensor::lnf, act_.narrow, Tensor::wte, 0, nullptr, c_,
             options_.config.padded_vocab);
}

template <>
void GpuModelOf<bf16>::classifier_fp8(const std::int32_t* targets, float scale) {
  launch_fused_classifier_fp8(act_.dlogits, fp8_->dlogits_scale(), act_.losses, act_.logits, targets, scale,
                              rows_, options_.config.vocab, options_.config.padded_vocab, stream_.get());
}

template <>
void GpuModelOf<bf16>::classifier_products_backward_fp8(bool accumulate) {
  cudaStream_t s = stream_.get();
  const int vp = options_.config.padded_vocab;
  auto* transposed = reinterpret_cast<std::uint8_t*>(act_.logits);  // read for the last time
  launch_fp8_transpose(transposed, act_.dlogits, rows_, vp, s);
  matmul_.backward_weight_fp8(gradient(Tensor::wte), fp8_->dlogits(transposed),
                              fp8_->operand(Fp8Tensor::lnf, 0, act_.lnf_transposed), rows_, c_, vp,
                              kFastBackward, s, accumulate);
  matmul_.backward_input_fp8(act_.projected, fp8_->dlogits(act_.dlogits),
                             fp8_->weight_transposed(Tensor::wte, 0), rows_, c_, vp, kFastBackward, s);
}

template <>
void GpuModelOf<bf16>::last_layernorm_backward_fp8() {
  const int l = options_.config.layers - 1;
  launch_layernorm_backward_fp8(
      act_.dresidual, fp8_->output(Fp8Tensor::dfcproj, l, act_.narrow, act_.narrow_transposed), nullptr,
      gradient(Tensor::lnfw), gradient(Tensor::lnfb), layer_tensors(gradients_.data(), layout_, l).fcprojb,
      act_.projected, act_.residual_last, parameter(Tensor::lnfw), act_.lnf_mean, act_.lnf_rstd, rows_, c_,
      sums_, stream_.get());
}

template <>
void GpuModelOf<bf16>::weight_gradient_fp8(float* dweight, Fp8Tensor dout, Fp8Tensor inp,
                                           const std::uint8_t* inp_transposed, int l, int c, int oc,
                                           bool accumulate) {
  const Fp8Operand gradient_transposed =
      fp8_->operand(dout, l, oc == c_ ? act_.narrow_transposed : act_.wide_transposed);
  matmul_.backward_weight_fp8(dweight, gradient_transposed, fp8_->operand(inp, l, inp_transposed), rows_, c,
                              oc, kFastBackward, stream_.get(), accumulate);
}

template <>
void GpuModelOf<bf16>::linear_backward_fp8(bf16* dinp, float* dweight, Fp8Tensor dout, Fp8Tensor inp,
                                           const std::uint8_t* inp_transposed, Tensor weight, int l, int c,
                                           int oc, bool accumulate) {
  weight_gradient_fp8(dweight, dout, inp, inp_transposed, l, c, oc, accumulate);
  const Fp8Operand gradient = fp8_->operand(dout, l, oc == c_ ? act_.narrow : act_.wide);
  matmul_.backward_input_fp8(dinp, gradient, fp8_->weight_transposed(weight, l), rows_, c, oc, kFastBackward,
                             stream_.get());
}

template <>
void GpuModelOf<bf16>::mlp_down_backward_fp8(int l, bool accumulate) {
  cudaStream_t s = stream_.get();
  const Layer& a = act_.layers[static_cast<std::size_t>(l)];
  const Gradients g = layer_tensors(gradients_.data(), layout_, l);
  const Fp8Output dfc = fp8_->output(Fp8Tensor::dfc, l, act_.wide, act_.wide_transposed);
  if (switches().fp8_hidden == Fp8Hidden::bf16) {
    linear_backward_fp8(act_.dwide, g.fcprojw, Fp8Tensor::dfcproj, Fp8Tensor::gelu, a.gelu_transposed,
                        Tensor::fcprojw, l, 4 * c_, c_, accumulate);
    launch_fp8_gelu_backward(dfc, g.fcb, a.fch, act_.dwide, rows_, 4 * c_, sums_, s);
    return;
  }
  auto* dgelu = reinterpret_cast<std::uint8_t*>(act_.dwide);
  weight_gradient_fp8(g.fcprojw, Fp8Tensor::dfcproj, Fp8Tensor::gelu, a.gelu_transposed, l, 4 * c_, c_,
                      accumulate);
  matmul_.backward_input_fp8(
      fp8_->result(Fp8Tensor::dgelu, l, dgelu), fp8_->operand(Fp8Tensor::dfcproj, l, act_.narrow),
      fp8_->weight_transposed(Tensor::fcprojw, l), rows_, 4 * c_, c_, kFastBackward, s);
  launch_fp8_gelu_backward(dfc, g.fcb, fp8_->input(Fp8Tensor::fch, l, a.fch_fp8),
                           fp8_->fresh_input(Fp8Tensor::dgelu, l, dgelu), rows_, 4 * c_, sums_, s);
}

template <>
void GpuModelOf<bf16>::attention_backward_fp8(int l) {
  const ModelConfig& config = options_.config;
  cudaStream_t s = stream_.get();
  const Layer& a = act_.layers[static_cast<std::size_t>(l)];
  float* qkvb = layer_tensors(gradients_.data(), layout_, l).qkvb;
  const Fp8Output dqkv = fp8_->output(Fp8Tensor::dqkv, l, act_.wide, act_.wide_transposed);
  if (!attention_writes_dqkv_in_fp8()) {
    attention_backward(a, act_.projected);
    launch_fp8_cast(dqkv, Fp8Format::e5m2, qkvb, act_.dwide, rows_, 3 * c_, &sums_, s);
    return;
  }
  launch_hopper_attention_backward_fp8(dqkv, act_.projected, a.qkv, a.att, a.lse, options_.batch,
                                       options_.sequence, config.heads, config.head_size(), scratch_.data(),
                                       switches().deterministic, s);
  // Of the queries: see qkv_gradients.
  launch_bias_gradient_fp8(qkvb, dqkv.transposed, fp8_->operand(Fp8Tensor::dqkv, l, dqkv.transposed).inverse,
                           rows_, c_, s);
}

template <>
void GpuModelOf<bf16>::backward_layer_fp8(int l, bool accumulate) {
  cudaStream_t s = stream_.get();
  const Layer& a = act_.layers[static_cast<std::size_t>(l)];
  const Weights p = weights(l);
  const Gradients g = layer_tensors(gradients_.data(), layout_, l);

  mlp_down_backward_fp8(l, accumulate);
  linear_backward_fp8(act_.projected, g.fcw, Fp8Tensor::dfc, Fp8Tensor::ln2, a.ln2_transposed, Tensor::fcw, l,
                      c_, 4 * c_, accumulate);
  launch_layernorm_backward_fp8(act_.dresidual,
                                fp8_->output(Fp8Tensor::dattproj, l, act_.narrow, act_.narrow_transposed),
                                act_.dresidual, g.ln2w, g.ln2b, g.attprojb, act_.projected, a.mid, p.ln2w,
                                a.ln2_mean, a.ln2_rstd, rows_, c_, sums_, s);
  linear_backward_fp8(act_.projected, g.attprojw, Fp8Tensor::dattproj, Fp8Tensor::att, a.att_transposed,
                      Tensor::attprojw, l, c_, c_, accumulate);
  attention_backward_fp8(l);
  linear_backward_fp8(act_.projected, g.qkvw, Fp8Tensor::dqkv, Fp8Tensor::ln1, a.ln1_transposed, Tensor::qkvw,
                      l, c_, 3 * c_, accumulate);
  if (l == 0) {  // nothing is multiplied by it any more
    layernorm_backward(act_.dresidual, g.ln1w, g.ln1b, nullptr, a.residual, p.ln1w, a.ln1_mean, a.ln1_rstd);
    return;
  }
  launch_layernorm_backward_fp8(
      act_.dresidual, fp8_->output(Fp8Tensor::dfcproj, l - 1, act_.narrow, act_.narrow_transposed),
      act_.dresidual, g.ln1w, g.ln1b, layer_tensors(gradients_.data(), layout_, l - 1).fcprojb,
      act_.projected, a.residual, p.ln1w, a.ln1_mean, a.ln1_rstd, rows_, c_, sums_, s);
}

}  // namespace ridgeline::gpt2
