// The linear layers in float and bf16: an operand is the tensor as it is.
#include "gpt2/model/linear.h"

#include <type_traits>

#include "gpt2/ops/bias/add_bias.h"
#include "gpt2/ops/bias/bias_gradient.h"
#include "gpt2/ops/bias/bias_gradient_naive.h"
#include "gpt2/ops/elementwise/gelu.h"
#include "gpt2/ops/elementwise/gelu_bias.h"
#include "gpt2/ops/loss/classifier.h"
#include "gpt2/ops/matmul/hopper_matmul.h"
#include "gpt2/ops/norm/layernorm.h"

namespace ridgeline::gpt2 {

template <class P>
Linear<P>::Linear(const LinearContext<T>& context) : x_(context) {
  if (x_.switches().bias_gradient != BiasGradientKind::fused) return;
  const int c = x_.c();
  for (int accumulate = 0; accumulate < (x_.options.grad_accum > 1 ? 2 : 1); ++accumulate) {
    const auto fused = [&](int oc) {
      return x_.matmul.template bias_gradient_fused<T>(x_.rows(), c, oc, accumulate != 0);
    };
    qkv_bias_fused_[accumulate] = fused(3 * c);
    fc_bias_fused_[accumulate] = fused(4 * c);
  }
}

template <class P>
auto Linear<P>::begin_ln1(int l) -> Target {
  const Matrix<T>& kept = x_.layer(l).ln1;
  return kept.data != nullptr ? kept.data
                              : x_.act.stream.template begin<T>(live::normalised, x_.rows(), x_.c()).data;
}
template <class P>
auto Linear<P>::begin_ln2(int l) -> Target {
  const Matrix<T>& kept = x_.layer(l).ln2;
  return kept.data != nullptr ? kept.data
                              : x_.act.stream.template begin<T>(live::normalised, x_.rows(), x_.c()).data;
}
template <class P>
auto Linear<P>::ln1(int l) -> Operand {
  const Matrix<T>& kept = x_.layer(l).ln1;
  return kept.data != nullptr ? kept : x_.act.stream.template get<T>(live::normalised);
}
template <class P>
auto Linear<P>::ln2(int l) -> Operand {
  const Matrix<T>& kept = x_.layer(l).ln2;
  return kept.data != nullptr ? kept : x_.act.stream.template get<T>(live::normalised);
}

template <class P>
void Linear<P>::forward(T* out, const Operand& inp, const Weight& weight, const T* bias) {
  const int c = x_.in_of(weight);
  const int oc = x_.out_of(weight);
  if (bias != nullptr && x_.switches().bias == BiasKind::fused) {
    x_.matmul.forward(out, inp.data, x_.weight(weight), bias, x_.rows(), c, oc, x_.stream);
    return;
  }
  x_.gemms.forward(out, inp.data, x_.weight(weight), x_.rows(), c, oc, x_.stream);
  if (bias != nullptr) launch_add_bias(out, bias, x_.rows(), oc, x_.switches().kernels, x_.stream);
}

template <class P>
void Linear<P>::forward_residual(T* out, const T* residual, const Operand& inp, const Weight& weight,
                                 const T* bias) {
  x_.matmul.forward_residual(out, residual, inp.data, x_.weight(weight), bias, x_.rows(), x_.in_of(weight),
                             x_.out_of(weight), x_.stream);
}

template <class P>
auto Linear<P>::attend(int l, const T* qkv) -> Operand {
  x_.attention.forward(x_.layer(l), qkv, x_.act);
  return x_.layer(l).att;
}

template <class P>
auto Linear<P>::mlp_up(int l) -> Operand {
  const LayerActivations<T>& a = x_.layer(l);
  const LayerTensors<const T> p = x_.weights(l);
  const int c = x_.c();
  const Matrix<T> gelu =
      a.gelu.data != nullptr ? a.gelu : x_.act.wide.template begin<T>(live::gelu, x_.rows(), 4 * c);
  if constexpr (std::is_same_v<T, bf16>) {
    if (x_.switches().gelu == GeluKind::own) {
      launch_hopper_matmul_forward(gelu.data, a.gelu_slope.data, ln2(l).data, p.fcw, p.fcb, x_.rows(), c,
                                   4 * c, x_.stream);
      return gelu;
    }
  }
  if (x_.switches().gelu == GeluKind::fused) {
    x_.matmul.forward(gelu.data, ln2(l).data, p.fcw, p.fcb, x_.rows(), c, 4 * c, x_.stream,
                      MatmulEpilogue::gelu, a.fch.data);
    return gelu;
  }
  forward(a.fch.data, ln2(l), {Tensor::fcw, l}, p.fcb);
  launch_gelu_forward(gelu.data, static_cast<const T*>(a.fch.data), gelu.elements(), x_.stream,
                      x_.switches().kernels);
  return gelu;
}

template <class P>
void Linear<P>::logits() {
  const Matrix<T> logits =
      x_.act.logits.template begin<T>(live::logits, x_.rows(), x_.options.config.padded_vocab);
  forward(logits.data, x_.act.lnf, {Tensor::wte}, nullptr);
}

template <class P>
void Linear<P>::fused_classifier(const std::int32_t* targets, float scale) {
  const Matrix<T> logits = x_.act.logits.template get<T>(live::logits);
  launch_fused_classifier(logits.data, x_.act.losses, targets, scale, x_.rows(), x_.options.config.vocab,
                          x_.options.config.padded_vocab, x_.stream, x_.switches().kernels);
  x_.act.logits.become(live::logits, live::logits_gradient);
}

template <class P>
auto Linear<P>::dfcproj(int) -> Operand {
  return x_.act.stream.template get<T>(live::residual_gradient);
}
template <class P>
auto Linear<P>::dattproj(int) -> Operand {
  return x_.act.stream.template get<T>(live::residual_gradient);
}
template <class P>
auto Linear<P>::att_again(int l) -> Operand {
  return x_.layer(l).att;
}

template <class P>
auto Linear<P>::gelu_again(int l) -> Operand {
  const LayerActivations<T>& a = x_.layer(l);
  if (a.gelu.data != nullptr) return a.gelu;
  const Matrix<T> gelu = x_.act.wide.template begin<T>(live::gelu, x_.rows(), 4 * x_.c());
  launch_gelu_forward(gelu.data, static_cast<const T*>(a.fch.data), gelu.elements(), x_.stream,
                      x_.switches().kernels);
  return gelu;
}

// Into narrow, which is free until the GEMM that follows writes the gradient of the same layernorm's output there.
template <class P>
auto Linear<P>::normalized_again(const Matrix<T>& kept, const T* inp, const T* weight, const T* bias)
    -> Operand {
  if (kept.data != nullptr) return kept;
  const Matrix<T> again = x_.act.narrow.template begin<T>(live::normalised, x_.rows(), x_.c());
  float* no_statistics = nullptr;
  launch_layernorm_forward(again.data, no_statistics, no_statistics, inp, weight, bias, x_.rows(), x_.c(),
                           x_.stream, x_.switches().kernels);
  return again;
}

template <class P>
void Linear<P>::backward_weight(float* dweight, const Operand& dout, const Operand& inp, bool accumulate) {
  x_.gemms.backward_weight(dweight, dout.data, inp.data, x_.rows(), static_cast<int>(inp.columns),
                           static_cast<int>(dout.columns), x_.stream, accumulate);
}

template <class P>
void Linear<P>::backward_input(const Operand& dout, const Weight& weight) {
  const int c = x_.in_of(weight);
  const Matrix<T> dinp = x_.act.narrow.template begin<T>(live::normalized_gradient, x_.rows(), c);
  x_.gemms.backward_input(dinp.data, dout.data, x_.weight(weight), x_.rows(), c, x_.out_of(weight),
                          x_.stream);
}

template <class P>
void Linear<P>::classifier_backward(bool accumulate) {
  const Operand dlogits = x_.act.logits.template get<T>(live::logits_gradient);
  backward_weight(x_.gradients + x_.layout.offset(Tensor::wte), dlogits, x_.act.lnf, accumulate);
  backward_input(dlogits, {Tensor::wte});
}

template <class P>
void Linear<P>::bias_gradient(float* dbias, const T* dout, int oc) {
  if (x_.switches().bias_gradient == BiasGradientKind::naive) {
    launch_bias_gradient_naive(dbias, dout, x_.rows(), oc, x_.stream);
    return;
  }
  launch_bias_gradient(dbias, dout, x_.rows(), oc, oc, x_.sums, x_.stream, x_.switches().kernels);
}

template <class P>
void Linear<P>::weight_and_bias_gradient(float* dweight, float* dbias, const Operand& dout,
                                         const Operand& inp, bool accumulate, bool fused) {
  if (fused) {
    x_.matmul.backward_weight(dweight, dout.data, inp.data, x_.rows(), inp.columns, dout.columns, x_.stream,
                              accumulate, dbias);
    return;
  }
  bias_gradient(dbias, dout.data, static_cast<int>(dout.columns));
  backward_weight(dweight, dout, inp, accumulate);
}

template <class P>
auto Linear<P>::hidden_gradient(int l, bool accumulate) -> Operand {
  const LayerActivations<T>& a = x_.layer(l);
  const LayerTensors<const T> p = x_.weights(l);
  const LayerTensors<float> g = x_.gradients_of(l);
  const Switches& switches = x_.switches();
  const int c = x_.c();
  const std::int64_t rows = x_.rows();
  const T* dout = dfcproj(l).data;
  const T* fch = a.fch.data;
  const Matrix<T> dwide = x_.act.wide.template begin<T>(live::gelu_gradient, rows, 4 * c);
  // By what applies the GELU's derivative, unless a bias gradient of another kind was asked for by name.
  bool bias_is_done = false;
  if (switches.gelu == GeluKind::own) {
    if constexpr (std::is_same_v<T, bf16>) {
      bias_is_done = switches.bias_gradient == BiasGradientKind::separate;
      launch_hopper_matmul_backward_input(dwide.data, bias_is_done ? g.fcb : nullptr, dout, p.fcprojw,
                                          a.gelu_slope.data, rows, c, 4 * c, x_.sums, x_.stream);
    }
  } else if (switches.gelu == GeluKind::fused) {
    x_.matmul.backward_input(dwide.data, dout, p.fcprojw, rows, 4 * c, c, x_.stream, fch);
  } else {
    x_.gemms.backward_input(dwide.data, dout, p.fcprojw, rows, 4 * c, c, x_.stream);
    const T* dgelu = dwide.data;
    bias_is_done = switches.bias_gradient == BiasGradientKind::separate &&
                   switches.kernels == KernelWidth::packed && gelu_bias_backward_supported<T>(4 * c);
    if (bias_is_done) {
      launch_gelu_bias_backward(dwide.data, g.fcb, fch, dgelu, rows, 4 * c, x_.sums, x_.stream);
    } else {
      launch_gelu_backward(dwide.data, fch, dgelu, dwide.elements(), x_.stream, switches.kernels);
    }
  }
  x_.act.wide.become(live::gelu_gradient, live::hidden_gradient);
  const Operand ln2 = normalized_again(a.ln2, a.mid.data, p.ln2w, p.ln2b);
  const bool adds = x_.adds_to_matrices(l, accumulate);
  if (bias_is_done) {
    backward_weight(g.fcw, dwide, ln2, adds);
  } else {
    // One product cannot replace the matrix and add to the bias.
    weight_and_bias_gradient(g.fcw, g.fcb, dwide, ln2, adds,
                             adds == accumulate && fc_bias_fused_[accumulate]);
  }
  return dwide;
}

template <class P>
bool Linear<P>::value_bias_after_projection() const {
  return x_.switches().bias_gradient == BiasGradientKind::separate;
}

template <class P>
auto Linear<P>::qkv_gradient(int l, bool accumulate) -> Operand {
  const LayerActivations<T>& a = x_.layer(l);
  const LayerTensors<const T> p = x_.weights(l);
  const LayerTensors<float> g = x_.gradients_of(l);
  const int c = x_.c();
  const Matrix<T> datt = x_.act.narrow.template get<T>(live::normalized_gradient);
  const Matrix<T> dqkv = x_.act.wide.template begin<T>(live::qkv_gradient, x_.rows(), 3 * c);
  x_.attention.backward(dqkv.data, datt.data, a, x_.act);
  const Operand ln1 = normalized_again(a.ln1, a.residual.data, p.ln1w, p.ln1b);
  const bool adds = x_.adds_to_matrices(l, accumulate);
  if (!value_bias_after_projection()) {
    weight_and_bias_gradient(g.qkvw, g.qkvb, dqkv, ln1, adds,
                             adds == accumulate && qkv_bias_fused_[accumulate]);
    return dqkv;
  }
  // Of the queries: that of the keys is zero, and that of the values waits for attproj's (value_bias_gradient.h).
  launch_bias_gradient(g.qkvb, static_cast<const T*>(dqkv.data), x_.rows(), c, std::int64_t{3} * c, x_.sums,
                       x_.stream, x_.switches().kernels);
  backward_weight(g.qkvw, dqkv, ln1, adds);
  return dqkv;
}

template <class P>
void Linear<P>::layernorm_backward(const LayernormGradients<T>& g, Leaves, int) {
  const bool sums_apart = x_.switches().bias_gradient == BiasGradientKind::naive && g.column_sums != nullptr;
  const Matrix<T> dout = x_.act.narrow.template get<T>(live::normalized_gradient);
  const Matrix<T> dinp = x_.act.stream.template begin<T>(live::residual_gradient, x_.rows(), x_.c());
  launch_layernorm_backward(dinp.data, g.dresidual_in, g.dweight, g.dbias,
                            sums_apart ? nullptr : g.column_sums, static_cast<const T*>(dout.data), g.inp,
                            g.weight, g.mean, g.rstd, x_.rows(), x_.c(), x_.sums, x_.stream,
                            x_.switches().kernels);
  if (sums_apart) bias_gradient(g.column_sums, dinp.data, x_.c());
}

template class Linear<float>;
template class Linear<bf16>;

}  // namespace ridgeline::gpt2
