// reference_model.h: GPT-2 on the CPU, composed of the ops' references: the yardstick for GpuModel.
//
// Float or double, one thread, no optimisation: meant for models of a few hundred thousand parameters.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "gpt2/model/config.h"
#include "gpt2/model/parameters.h"
#include "gpt2/ops/optimizer/adamw.h"

namespace ridgeline::gpt2 {

/// The matrices' ranges in a parameter buffer, for AdamW: everything else does not decay.
std::vector<WeightDecayRange> weight_decay_ranges(const ParameterLayout& layout, float weight_decay);

template <typename Real>
class ReferenceModel {
 public:
  /// Parameters in ParameterLayout's order. Throws InputError for t > config.max_t or contradictory sizes.
  ReferenceModel(const ModelConfig& config, int batch, int sequence, std::vector<Real> parameters);

  const ParameterLayout& layout() const { return layout_; }
  std::vector<Real>& parameters() { return parameters_; }
  const std::vector<Real>& gradients() const { return gradients_; }

  /// Mean loss over the B*T positions. inputs and targets are (B, T).
  Real forward(std::span<const std::int32_t> inputs, std::span<const std::int32_t> targets);

  /// Adds `weight` times the gradient of that mean loss to gradients(). Call after forward, once.
  void backward(Real weight = 1);

  void zero_gradients();

  /// Clips to `clip` (0: never), updates, returns the norm before clipping. config.step counts from 1.
  Real optimizer_step(const AdamwConfig& config, float weight_decay, Real clip);

 private:
  struct Layer {
    std::vector<Real> ln1, ln1_mean, ln1_rstd, qkv, att, lse, mid, ln2, ln2_mean, ln2_rstd, fch, gelu;
  };

  ModelConfig config_;
  int batch_;
  int sequence_;
  ParameterLayout layout_;
  std::vector<Real> parameters_;
  std::vector<Real> gradients_;
  std::vector<Real> m_, v_;
  std::vector<std::vector<Real>>
      residual_;  // L + 1 of (B, T, C): what enters each layer, and what leaves the last
  std::vector<Layer> layers_;
  std::vector<Real> lnf_, lnf_mean_, lnf_rstd_;
  std::vector<Real> logits_;  // (B, T, Vp)
  std::vector<std::int32_t> inputs_, targets_;
};

extern template class ReferenceModel<float>;
extern template class ReferenceModel<double>;

}  // namespace ridgeline::gpt2
