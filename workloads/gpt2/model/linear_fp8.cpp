// The linear layers in FP8. What is stored as FP8 is so by the kernel that computes it, in both orientations; attention
// reads bfloat16, and where its kernel does not write FP8 its output and its gradient are cast on their way.
// What is between a GEMM and GELU is bfloat16 too, or FP8 in one orientation.
#include "gpt2/common/nvtx.h"
#include "gpt2/model/linear.h"
#include "gpt2/ops/attention/attention_hopper.h"
#include "gpt2/ops/bias/bias_gradient_fp8.h"
#include "gpt2/ops/fp8/cast_transpose.h"
#include "gpt2/ops/loss/classifier.h"
#include "gpt2/ops/norm/layernorm.h"

namespace ridgeline::gpt2 {
namespace {

// GEMMs leave partial sums to the tensor cores, which add with some 14 bits, in the forward pass alone.
constexpr bool kFastForward = true;
constexpr bool kFastBackward = false;

bool classifier_too(const GpuModelOptions& options) {
  return options.switches.fp8_classifier == Fp8Classifier::all;
}

// Where ranks keep parts of the master weights.
Fp8Shards fp8_shards(const GpuModelOptions& o) {
  const DeviceLayout layout(o.config);
  return {layout,
          o.config.layers,
          classifier_too(o),
          gradient_buckets(layout, o.config.layers, o.reduction.bucket_bytes, o.ranks),
          o.ranks,
          o.reduction.gather};
}

std::optional<Fp8Sharing> fp8_sharing(const LinearContext<bf16>& x) {
  if (x.shards.empty()) return std::nullopt;
  return Fp8Sharing{x.options.communicator, fp8_shards(x.options), x.beside_stream};
}

// Of scratch.h.
std::string_view live_name(Fp8Tensor tensor) {
  switch (tensor) {
    case Fp8Tensor::ln1:
    case Fp8Tensor::ln2:
    case Fp8Tensor::lnf:
      return live::normalised;
    case Fp8Tensor::att:
      return live::attended;
    case Fp8Tensor::gelu:
      return live::gelu;
    case Fp8Tensor::dqkv:
      return live::qkv_gradient;
    case Fp8Tensor::dattproj:
    case Fp8Tensor::dfcproj:
      return live::residual_gradient;
    case Fp8Tensor::dfc:
      return live::hidden_gradient;
    case Fp8Tensor::fch:
    case Fp8Tensor::dgelu:
      break;  // these are no operands
  }
  return live::nothing;
}

}  // namespace

Linear<fp8>::Linear(const LinearContext<T>& context)
    : x_(context),
      state_(x_.options.config, x_.rows() * x_.options.grad_accum * x_.options.ranks,
             classifier_too(x_.options), x_.stream, fp8_sharing(x_)) {}

std::int64_t Linear<fp8>::device_bytes(const GpuModelOptions& options) {
  const bool classifier = classifier_too(options);
  if (options.reduction.zero == 0) return Fp8Layers::device_bytes(options.config, classifier, nullptr);
  const Fp8Shards shards = fp8_shards(options);
  return Fp8Layers::device_bytes(options.config, classifier, &shards);
}

void Linear<fp8>::load(const float* master) {
  state_.reset(x_.stream);
  cast_weights(master);
}

// The largest of all ranks. Whatever else the state holds is the same in each.
void Linear<fp8>::share_magnitudes(Communicator& communicator) {
  communicator.all_reduce_max(state_.state(), state_bytes(x_.options.config) / std::int64_t{sizeof(float)},
                              x_.stream);
}

void Linear<fp8>::end_step(const float* master) {
  cast_weights(master);
  state_.update(x_.stream);
}

auto Linear<fp8>::input(Fp8Tensor tensor, int l, const Bytes& transposed, bool wide) const -> Operand {
  return {tensor, l, wide, static_cast<int>(transposed.rows), transposed};
}
auto Linear<fp8>::narrow(Fp8Tensor tensor, int l) const -> Operand {
  return {tensor, l, false, x_.c(), x_.act.narrow_transposed};
}
auto Linear<fp8>::wide(Fp8Tensor tensor, int l, int columns) const -> Operand {
  return {tensor, l, true, columns, {x_.act.wide_transposed.data, columns, x_.rows()}};
}

Fp8Output Linear<fp8>::begin(const Operand& o) {
  const Bytes data = scratch_of(o).begin<std::uint8_t>(live_name(o.tensor), x_.rows(), o.columns);
  return state_.output(o.tensor, o.layer, data.data, o.transposed.data);
}
Fp8Operand Linear<fp8>::as_is(const Operand& o) {
  return state_.operand(o.tensor, o.layer, scratch_of(o).get<std::uint8_t>(live_name(o.tensor)).data);
}

auto Linear<fp8>::ln1(int l) -> Operand {
  return input(Fp8Tensor::ln1, l, x_.layer(l).ln1_transposed);
}
auto Linear<fp8>::ln2(int l) -> Operand {
  return input(Fp8Tensor::ln2, l, x_.layer(l).ln2_transposed);
}
auto Linear<fp8>::att_again(int l) -> Operand {
  return input(Fp8Tensor::att, l, x_.layer(l).att_transposed);
}
auto Linear<fp8>::gelu_again(int l) -> Operand {
  return input(Fp8Tensor::gelu, l, x_.layer(l).gelu_transposed, true);
}

void Linear<fp8>::forward(T* out, const Operand& inp, const Weight& weight, const T* bias) {
  x_.matmul.forward_fp8(out, as_is(inp), state_.weight(weight.tensor, weight.layer), bias, x_.rows(),
                        x_.in_of(weight), x_.out_of(weight), kFastForward, x_.stream);
}

void Linear<fp8>::forward_residual(T* out, const T* residual, const Operand& inp, const Weight& weight,
                                   const T* bias) {
  x_.matmul.forward_residual_fp8(out, residual, as_is(inp), state_.weight(weight.tensor, weight.layer), bias,
                                 x_.rows(), x_.in_of(weight), x_.out_of(weight), kFastForward, x_.stream);
}

// The own kernel for Hopper casts what it has in registers; after another a pass does.
auto Linear<fp8>::attend(int l, const T* qkv) -> Operand {
  const LayerActivations<T>& a = x_.layer(l);
  const GpuModelOptions& o = x_.options;
  const Operand att = att_again(l);
  const Fp8Output out = begin(att);
  const int heads = o.config.heads, head_size = o.config.head_size();
  if (x_.switches().attention == AttentionKind::hopper &&
      hopper_attention_fp8_supported(o.batch, o.sequence, heads, head_size)) {
    launch_hopper_attention_forward_fp8(a.att.data, out, a.lse, qkv, o.batch, o.sequence, heads, head_size,
                                        x_.stream);
    return att;
  }
  x_.attention.forward(a, qkv, x_.act);
  launch_fp8_cast(out, Fp8Format::e4m3, nullptr, a.att.data, x_.rows(), x_.c(), nullptr, x_.stream);
  return att;
}

auto Linear<fp8>::mlp_up(int l) -> Operand {
  const LayerActivations<T>& a = x_.layer(l);
  const bf16* fcb = x_.weights(l).fcb;
  const std::int64_t rows = x_.rows();
  const int c = x_.c();
  const Operand gelu = gelu_again(l);
  const Fp8Output out = begin(gelu);
  if (x_.switches().fp8_hidden == Fp8Hidden::bf16) {
    forward(a.fch.data, ln2(l), {Tensor::fcw, l}, fcb);
    launch_fp8_gelu(out, a.fch.data, rows, 4 * c, x_.stream);
    return gelu;
  }
  std::uint8_t* fch = a.fch_fp8.data;
  x_.matmul.forward_fp8(state_.result(Fp8Tensor::fch, l, fch), as_is(ln2(l)), state_.weight(Tensor::fcw, l),
                        fcb, rows, c, 4 * c, kFastForward, x_.stream);
  launch_fp8_gelu(out, state_.fresh_input(Fp8Tensor::fch, l, fch), rows, 4 * c, x_.stream);
  return gelu;
}

void Linear<fp8>::logits() {
  const Bytes& kept = x_.act.lnf_transposed;
  const int vp = x_.options.config.padded_vocab;
  const Matrix<T> logits = x_.act.logits.begin<T>(live::logits, x_.rows(), vp);
  if (!classifier_too(x_.options)) {
    const T* no_bias = nullptr;
    x_.matmul.forward(logits.data, static_cast<const T*>(x_.act.lnf.data), x_.weight({Tensor::wte}), no_bias,
                      x_.rows(), x_.c(), vp, x_.stream);
    return;
  }
  const Operand lnf = input(Fp8Tensor::lnf, 0, kept);
  launch_fp8_cast(begin(lnf), Fp8Format::e4m3, nullptr, x_.act.lnf.data, x_.rows(), x_.c(), nullptr,
                  x_.stream);
  forward(logits.data, lnf, {Tensor::wte}, nullptr);
}

void Linear<fp8>::fused_classifier(const std::int32_t* targets, float scale) {
  const ModelConfig& config = x_.options.config;
  const Matrix<T> logits = x_.act.logits.get<T>(live::logits);
  if (classifier_too(x_.options)) {
    launch_fused_classifier_fp8(x_.act.dlogits.data, state_.dlogits_scale(), x_.act.losses, logits.data,
                                targets, scale, x_.rows(), config.vocab, config.padded_vocab, x_.stream);
    return;
  }
  launch_fused_classifier(logits.data, x_.act.losses, targets, scale, x_.rows(), config.vocab,
                          config.padded_vocab, x_.stream, x_.switches().kernels);
  x_.act.logits.become(live::logits, live::logits_gradient);
}

void Linear<fp8>::classifier_backward(bool accumulate) {
  const std::int64_t rows = x_.rows();
  const int c = x_.c();
  const int vp = x_.options.config.padded_vocab;
  float* dwte = x_.gradients + x_.layout.offset(Tensor::wte);
  const Matrix<T> dlnf = x_.act.narrow.begin<T>(live::normalized_gradient, rows, c);
  if (!classifier_too(x_.options)) {
    const T* dlogits = x_.act.logits.get<T>(live::logits_gradient).data;
    x_.matmul.backward_weight(dwte, dlogits, static_cast<const T*>(x_.act.lnf.data), rows, c, vp, x_.stream,
                              accumulate);
    x_.matmul.backward_input(dlnf.data, dlogits, x_.weight({Tensor::wte}), rows, c, vp, x_.stream);
    return;
  }
  // Logits are read for the last time.
  const Bytes transposed = x_.act.logits.begin<std::uint8_t>(live::logits_gradient, vp, rows);
  launch_fp8_transpose(transposed.data, x_.act.dlogits.data, rows, vp, x_.stream);
  x_.matmul.backward_weight_fp8(dwte, state_.dlogits(transposed.data),
                                state_.operand(Fp8Tensor::lnf, 0, x_.act.lnf_transposed.data), rows, c, vp,
                                kFastBackward, x_.stream, accumulate);
  x_.matmul.backward_input_fp8(dlnf.data, state_.dlogits(x_.act.dlogits.data),
                               state_.weight_transposed(Tensor::wte, 0), rows, c, vp, kFastBackward,
                               x_.stream);
}

void Linear<fp8>::backward_weight(float* dweight, const Operand& dout, const Operand& inp, bool accumulate) {
  x_.matmul.backward_weight_fp8(dweight, transposed(dout), transposed(inp), x_.rows(), inp.columns,
                                dout.columns, kFastBackward, x_.stream, accumulate);
}

void Linear<fp8>::backward_input(const Operand& dout, const Weight& weight) {
  const int c = x_.in_of(weight);
  const Matrix<T> dinp = x_.act.narrow.begin<T>(live::normalized_gradient, x_.rows(), c);
  x_.matmul.backward_input_fp8(dinp.data, as_is(dout), state_.weight_transposed(weight.tensor, weight.layer),
                               x_.rows(), c, x_.out_of(weight), kFastBackward, x_.stream);
}

auto Linear<fp8>::hidden_gradient(int l, bool accumulate) -> Operand {
  const LayerActivations<T>& a = x_.layer(l);
  const LayerTensors<float> g = x_.gradients_of(l);
  const std::int64_t rows = x_.rows();
  const int c = x_.c();
  const Fp8Operand dout = as_is(dfcproj(l));
  const Fp8Operand weight = state_.weight_transposed(Tensor::fcprojw, l);
  const Operand dfc = wide(Fp8Tensor::dfc, l, 4 * c);
  if (x_.switches().fp8_hidden == Fp8Hidden::bf16) {
    const Matrix<T> dgelu = x_.act.wide.begin<T>(live::gelu_gradient, rows, 4 * c);
    x_.matmul.backward_input_fp8(dgelu.data, dout, weight, rows, 4 * c, c, kFastBackward, x_.stream);
    launch_fp8_gelu_backward(begin(dfc), g.fcb, a.fch.data, dgelu.data, rows, 4 * c, x_.sums, x_.stream);
  } else {
    std::uint8_t* dgelu = x_.act.wide.begin<std::uint8_t>(live::gelu_gradient, rows, 4 * c).data;
    x_.matmul.backward_input_fp8(state_.result(Fp8Tensor::dgelu, l, dgelu), dout, weight, rows, 4 * c, c,
                                 kFastBackward, x_.stream);
    launch_fp8_gelu_backward(begin(dfc), g.fcb, state_.input(Fp8Tensor::fch, l, a.fch_fp8.data),
                             state_.fresh_input(Fp8Tensor::dgelu, l, dgelu), rows, 4 * c, x_.sums, x_.stream);
  }
  backward_weight(g.fcw, dfc, ln2(l), accumulate);
  return dfc;
}

bool Linear<fp8>::attention_writes_dqkv() const {
  const GpuModelOptions& o = x_.options;
  return x_.switches().attention == AttentionKind::hopper &&
         hopper_attention_backward_fp8_supported(o.batch, o.sequence, o.config.heads, o.config.head_size());
}

auto Linear<fp8>::qkv_gradient(int l, bool accumulate) -> Operand {
  const LayerActivations<T>& a = x_.layer(l);
  const LayerTensors<float> g = x_.gradients_of(l);
  const GpuModelOptions& o = x_.options;
  const int c = x_.c();
  const Matrix<T> datt = x_.act.narrow.get<T>(live::normalized_gradient);
  const Operand dqkv = wide(Fp8Tensor::dqkv, l, 3 * c);
  const Fp8Output out = begin(dqkv);
  if (attention_writes_dqkv()) {
    launch_hopper_attention_backward_fp8(out, datt.data, a.qkv.data, a.att.data, a.lse, o.batch, o.sequence,
                                         o.config.heads, o.config.head_size(), x_.scratch,
                                         x_.switches().deterministic, x_.stream);
    // Of the queries: that of the keys is zero, and that of the values waits for attproj's (value_bias_gradient.h).
    launch_bias_gradient_fp8(g.qkvb, out.transposed, transposed(dqkv).inverse, x_.rows(), c, x_.stream);
  } else {
    const Matrix<T> wide = x_.act.wide.begin<T>(live::qkv_gradient, x_.rows(), 3 * c);
    x_.attention.backward(wide.data, datt.data, a, x_.act);
    launch_fp8_cast(out, Fp8Format::e5m2, g.qkvb, wide.data, x_.rows(), 3 * c, &x_.sums, x_.stream);
  }
  backward_weight(g.qkvw, dqkv, ln1(l), accumulate);
  return dqkv;
}

void Linear<fp8>::layernorm_backward(const LayernormGradients<T>& g, Leaves leaves, int l) {
  const T* dout = x_.act.narrow.get<T>(live::normalized_gradient).data;
  T* dinp = x_.act.stream.begin<T>(live::residual_gradient, x_.rows(), x_.c()).data;
  if (leaves == Leaves::nothing) {
    launch_layernorm_backward(dinp, g.dresidual_in, g.dweight, g.dbias, g.column_sums, dout, g.inp, g.weight,
                              g.mean, g.rstd, x_.rows(), x_.c(), x_.sums, x_.stream, x_.switches().kernels);
    return;
  }
  const Operand stored = leaves == Leaves::dfcproj ? dfcproj(l) : dattproj(l);
  launch_layernorm_backward(dinp, begin(stored), g.dresidual_in, g.dweight, g.dbias, g.column_sums, dout,
                            g.inp, g.weight, g.mean, g.rstd, x_.rows(), x_.c(), x_.sums, x_.stream);
}

}  // namespace ridgeline::gpt2
