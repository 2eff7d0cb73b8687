// fp8_scaling.h: which tensors of the model are stored as FP8 with delayed scales, and how large their state
// is. Host only.
#pragma once

#include <cstdint>

#include "gpt2/model/config.h"
#include "gpt2/ops/fp8/scaling.h"

namespace ridgeline::gpt2 {

/// Of a layer: the inputs of its four GEMMs, with GELU's argument, then the gradients of their
/// outputs, with that of GELU's output. Of the model: the input of the classifier's GEMM.
enum class Fp8Tensor { ln1, att, ln2, fch, gelu, lnf, dqkv, dattproj, dfc, dgelu, dfcproj };

/// Where a tensor stands among all of them; those in E4M3 come first. lnf is of layer 0.
constexpr std::int64_t fp8_tensor_index(const ModelConfig& config, Fp8Tensor tensor, int layer) {
  const std::int64_t layers = config.layers;
  const auto kind = static_cast<std::int64_t>(tensor);
  constexpr auto kLnf = static_cast<std::int64_t>(Fp8Tensor::lnf);
  if (kind <= kLnf) return kind * layers + layer;
  return (kind - 1) * layers + 1 + layer;
}
constexpr std::int64_t fp8_e4m3_tensors(const ModelConfig& config) {
  return fp8_tensor_index(config, Fp8Tensor::dqkv, 0);
}
constexpr std::int64_t fp8_tensors(const ModelConfig& config) {
  return fp8_tensor_index(config, Fp8Tensor::dfcproj, config.layers);
}
/// Bytes of StatePart::scaling.
constexpr std::int64_t fp8_scaling_bytes(const ModelConfig& config) {
  return fp8_state_bytes(fp8_tensors(config));
}

}  // namespace ridgeline::gpt2
