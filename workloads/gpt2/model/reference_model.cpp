#include "gpt2/model/reference_model.h"

#include <fmt/format.h>

#include <algorithm>
#include <stdexcept>

#include "gpt2/common/errors.h"
#include "gpt2/ops/attention/attention.h"
#include "gpt2/ops/elementwise/gelu.h"
#include "gpt2/ops/embedding/encoder.h"
#include "gpt2/ops/loss/classifier.h"
#include "gpt2/ops/loss/loss_sum.h"
#include "gpt2/ops/matmul/reference_matmul.h"
#include "gpt2/ops/norm/layernorm.h"

namespace ridgeline::gpt2 {

std::vector<WeightDecayRange> weight_decay_ranges(const ParameterLayout& layout, float weight_decay) {
  std::vector<WeightDecayRange> ranges;
  for (int t = 0; t < kTensorCount; ++t) {
    const auto tensor = static_cast<Tensor>(t);
    if (!tensor_is_matrix(tensor)) continue;
    ranges.push_back({layout.offset(tensor), layout.offset(tensor) + layout.count(tensor), weight_decay});
  }
  return ranges;
}

template <typename Real>
ReferenceModel<Real>::ReferenceModel(const ModelConfig& config, int batch, int sequence,
                                     std::vector<Real> parameters)
    : config_(config),
      batch_(batch),
      sequence_(sequence),
      layout_(config),
      parameters_(std::move(parameters)) {
  validate(config);
  if (batch < 1 || sequence < 1 || sequence > config.max_t) {
    throw InputError(fmt::format("B={} T={}: T must be 1 to {}", batch, sequence, config.max_t));
  }
  const auto total = static_cast<std::size_t>(layout_.total());
  if (parameters_.size() != total) throw std::invalid_argument("ReferenceModel: wrong number of parameters");
  gradients_.assign(total, Real(0));
  m_.assign(total, Real(0));
  v_.assign(total, Real(0));

  const auto rows = static_cast<std::size_t>(batch) * static_cast<std::size_t>(sequence);
  const auto c = static_cast<std::size_t>(config.channels);
  residual_.assign(static_cast<std::size_t>(config.layers) + 1, std::vector<Real>(rows * c));
  Layer layer;
  layer.ln1 = layer.att = layer.mid = layer.ln2 = std::vector<Real>(rows * c);
  layer.ln1_mean = layer.ln1_rstd = layer.ln2_mean = layer.ln2_rstd = std::vector<Real>(rows);
  layer.qkv = std::vector<Real>(rows * 3 * c);
  layer.lse = std::vector<Real>(rows * static_cast<std::size_t>(config.heads));
  layer.fch = layer.gelu = std::vector<Real>(rows * 4 * c);
  layers_.assign(static_cast<std::size_t>(config.layers), layer);
  lnf_.resize(rows * c);
  lnf_mean_.resize(rows);
  lnf_rstd_.resize(rows);
  logits_.resize(rows * static_cast<std::size_t>(config.padded_vocab));
}

template <typename Real>
Real ReferenceModel<Real>::forward(std::span<const std::int32_t> inputs,
                                   std::span<const std::int32_t> targets) {
  const std::int64_t rows = static_cast<std::int64_t>(batch_) * sequence_;
  const int c = config_.channels;
  inputs_.assign(inputs.begin(), inputs.end());
  targets_.assign(targets.begin(), targets.end());
  if (static_cast<std::int64_t>(inputs_.size()) != rows || targets_.size() != inputs_.size()) {
    throw std::invalid_argument("ReferenceModel: a batch holds B*T inputs and targets");
  }
  const Real* base = parameters_.data();
  const Real* wte = base + layout_.offset(Tensor::wte);
  encoder_forward_cpu(residual_[0].data(), inputs_.data(), wte, base + layout_.offset(Tensor::wpe), batch_,
                      sequence_, c);

  std::vector<Real> projected(static_cast<std::size_t>(rows * c));
  for (int l = 0; l < config_.layers; ++l) {
    Layer& a = layers_[static_cast<std::size_t>(l)];
    const auto p = layer_tensors(base, layout_, l);
    const Real* x = residual_[static_cast<std::size_t>(l)].data();
    if (l == 0) {
      layernorm_forward_cpu(a.ln1.data(), a.ln1_mean.data(), a.ln1_rstd.data(), x, p.ln1w, p.ln1b, rows, c);
    }
    matmul_forward_cpu(a.qkv.data(), a.ln1.data(), p.qkvw, p.qkvb, rows, c, 3 * c);
    attention_forward_cpu(a.att.data(), a.lse.data(), a.qkv.data(), batch_, sequence_, config_.heads,
                          config_.head_size());
    matmul_forward_cpu(projected.data(), a.att.data(), p.attprojw, p.attprojb, rows, c, c);
    residual_layernorm_forward_cpu(a.mid.data(), a.ln2.data(), a.ln2_mean.data(), a.ln2_rstd.data(), x,
                                   static_cast<const Real*>(projected.data()), p.ln2w, p.ln2b, rows, c);
    matmul_forward_cpu(a.fch.data(), a.ln2.data(), p.fcw, p.fcb, rows, c, 4 * c);
    gelu_forward_cpu(a.gelu.data(), a.fch.data(), rows * 4 * c);
    matmul_forward_cpu(projected.data(), a.gelu.data(), p.fcprojw, p.fcprojb, rows, 4 * c, c);

    Real* next = residual_[static_cast<std::size_t>(l) + 1].data();
    const auto fused = [&](Real* normed, Real* mean, Real* rstd, const Real* weight, const Real* bias) {
      residual_layernorm_forward_cpu(next, normed, mean, rstd, static_cast<const Real*>(a.mid.data()),
                                     static_cast<const Real*>(projected.data()), weight, bias, rows, c);
    };
    if (l + 1 < config_.layers) {
      Layer& b = layers_[static_cast<std::size_t>(l) + 1];
      const auto q = layer_tensors(base, layout_, l + 1);
      fused(b.ln1.data(), b.ln1_mean.data(), b.ln1_rstd.data(), q.ln1w, q.ln1b);
    } else {
      fused(lnf_.data(), lnf_mean_.data(), lnf_rstd_.data(), base + layout_.offset(Tensor::lnfw),
            base + layout_.offset(Tensor::lnfb));
    }
  }
  matmul_forward_cpu(logits_.data(), lnf_.data(), wte, static_cast<const Real*>(nullptr), rows, c,
                     config_.padded_vocab);
  std::vector<Real> losses(static_cast<std::size_t>(rows));
  classifier_loss_cpu(losses.data(), logits_.data(), targets_.data(), rows, config_.vocab,
                      config_.padded_vocab);
  Real loss = 0;
  loss_sum_cpu(&loss, losses.data(), rows, Real(1) / static_cast<Real>(rows), false);
  return loss;
}

template <typename Real>
void ReferenceModel<Real>::backward(Real weight) {
  const std::int64_t rows = static_cast<std::int64_t>(batch_) * sequence_;
  const int c = config_.channels;
  const Real* base = parameters_.data();
  Real* grad = gradients_.data();
  Real* no_bias = nullptr;
  const auto at = [&](Tensor tensor) { return layout_.offset(tensor); };

  std::vector<Real> losses(static_cast<std::size_t>(rows));
  fused_classifier_cpu(logits_.data(), losses.data(), targets_.data(), weight / static_cast<Real>(rows), rows,
                       config_.vocab, config_.padded_vocab);
  std::vector<Real> dres(static_cast<std::size_t>(rows * c)), dln(dres.size()), datt(dres.size());
  std::vector<Real> dqkv(dres.size() * 3), dgelu(dres.size() * 4);
  matmul_backward_cpu(dln.data(), grad + at(Tensor::wte), no_bias, logits_.data(), lnf_.data(),
                      base + at(Tensor::wte), rows, c, config_.padded_vocab);

  // The column sums of the gradient that leaves a layernorm's backward are the gradient of the bias of the
  // projection that had written into the residual stream just before it.
  const auto g_last = layer_tensors(grad, layout_, config_.layers - 1);
  layernorm_backward_cpu(dres.data(), static_cast<const Real*>(nullptr), grad + at(Tensor::lnfw),
                         grad + at(Tensor::lnfb), g_last.fcprojb, dln.data(), residual_.back().data(),
                         base + at(Tensor::lnfw), lnf_mean_.data(), lnf_rstd_.data(), rows, c);
  for (int l = config_.layers - 1; l >= 0; --l) {
    const Layer& a = layers_[static_cast<std::size_t>(l)];
    const auto p = layer_tensors(base, layout_, l);
    const auto g = layer_tensors(grad, layout_, l);
    matmul_backward_cpu(dgelu.data(), g.fcprojw, no_bias, dres.data(), a.gelu.data(), p.fcprojw, rows, 4 * c,
                        c);
    gelu_backward_cpu(dgelu.data(), a.fch.data(), dgelu.data(), rows * 4 * c);
    matmul_backward_cpu(dln.data(), g.fcw, g.fcb, dgelu.data(), a.ln2.data(), p.fcw, rows, c, 4 * c);
    layernorm_backward_cpu(dres.data(), static_cast<const Real*>(dres.data()), g.ln2w, g.ln2b, g.attprojb,
                           dln.data(), a.mid.data(), p.ln2w, a.ln2_mean.data(), a.ln2_rstd.data(), rows, c);
    matmul_backward_cpu(datt.data(), g.attprojw, no_bias, dres.data(), a.att.data(), p.attprojw, rows, c, c);
    attention_backward_cpu(dqkv.data(), datt.data(), a.qkv.data(), a.att.data(), a.lse.data(), batch_,
                           sequence_, config_.heads, config_.head_size());
    matmul_backward_cpu(dln.data(), g.qkvw, g.qkvb, dqkv.data(), a.ln1.data(), p.qkvw, rows, c, 3 * c);
    Real* below = l > 0 ? layer_tensors(grad, layout_, l - 1).fcprojb : nullptr;
    layernorm_backward_cpu(dres.data(), static_cast<const Real*>(dres.data()), g.ln1w, g.ln1b, below,
                           dln.data(), residual_[static_cast<std::size_t>(l)].data(), p.ln1w,
                           a.ln1_mean.data(), a.ln1_rstd.data(), rows, c);
  }
  encoder_backward_cpu(grad + at(Tensor::wte), grad + at(Tensor::wpe), dres.data(), inputs_.data(), batch_,
                       sequence_, c);
}

template <typename Real>
void ReferenceModel<Real>::zero_gradients() {
  std::fill(gradients_.begin(), gradients_.end(), Real(0));
}

template <typename Real>
Real ReferenceModel<Real>::optimizer_step(const AdamwConfig& config, float weight_decay, Real clip) {
  const Real norm = global_norm_cpu(gradients_.data(), layout_.total());
  const Real scale = clip > 0 && norm > clip ? clip / norm : Real(1);
  adamw_cpu(parameters_.data(), m_.data(), v_.data(), gradients_.data(), scale, layout_.total(),
            weight_decay_ranges(layout_, weight_decay), config);
  return norm;
}

template class ReferenceModel<float>;
template class ReferenceModel<double>;

}  // namespace ridgeline::gpt2
