// fp8_scaling.h: which tensors of the model are stored as FP8 with delayed scales, and how large their state
// is. Host only.
#pragma once

#include <cstdint>

#include "gpt2/model/config.h"
#include "gpt2/ops/fp8/scaling.h"

namespace ridgeline::gpt2 {

/// Of a layer: the inputs of its four linear products, then the gradients of their outputs.
enum class Fp8Tensor { ln1, att, ln2, gelu, dqkv, dattproj, dfc, dfcproj };
inline constexpr int kFp8Inputs = 4;
inline constexpr int kFp8Tensors = 8;

constexpr std::int64_t fp8_tensors(const ModelConfig& config) {
  return std::int64_t{kFp8Tensors} * config.layers;
}
/// Bytes of StatePart::scaling.
constexpr std::int64_t fp8_scaling_bytes(const ModelConfig& config) {
  return fp8_state_bytes(fp8_tensors(config));
}

}  // namespace ridgeline::gpt2
