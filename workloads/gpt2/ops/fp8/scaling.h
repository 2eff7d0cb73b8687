// scaling.h: delayed scaling. The scale with which a tensor is stored in one step follows from the largest
// magnitudes it had in the steps before, so that a kernel knows the scale before it computes the values.
#pragma once

#include <cuda_runtime_api.h>

#include <cstdint>

#include "gpt2/ops/fp8/fp8.h"

namespace ridgeline::gpt2 {

/// Steps that are remembered. A scale follows the largest of them: it falls at once when values grow, and
/// rises only when the larger ones are that long ago.
inline constexpr int kFp8History = 16;
/// Rows of FP32 that a tensor has in the state: amax of the step that runs, scale, inverse, history from the latest on.
inline constexpr int kFp8StateRows = 3 + kFp8History;

constexpr std::int64_t fp8_state_bytes(std::int64_t tensors) {
  return kFp8StateRows * tensors * std::int64_t{sizeof(float)};
}

/// The state of many tensors, in one piece that a checkpoint can keep: (kFp8StateRows, tensors) floats. The
/// first `e4m3` of the tensors are stored in that format, the others in E5M2.
struct Fp8ScalingState {
  float* data = nullptr;
  std::int64_t tensors = 0;
  std::int64_t e4m3 = 0;

  std::uint32_t* amax(std::int64_t tensor) const { return reinterpret_cast<std::uint32_t*>(data + tensor); }
  const float* scale(std::int64_t tensor) const { return data + tensors + tensor; }
  const float* inverse(std::int64_t tensor) const { return data + 2 * tensors + tensor; }
};

/// Both on the host and on the device: the state behind a step. amax goes to the front of the history and is zero
/// again; one that is not finite counts as nothing there. Without any magnitude remembered the scale stays.
__host__ __device__ inline void fp8_update_tensor(const Fp8ScalingState& state, std::int64_t tensor) {
  float* at = state.data + tensor;
  const std::int64_t row = state.tensors;
  float latest = *at;
  if (!(latest <= 3.402823466e38F)) latest = 0.0F;
  *at = 0.0F;
  float largest = latest;
  float* history = at + 3 * row;
  for (int age = kFp8History - 1; age > 0; --age) {
    const float older = history[(age - 1) * row];
    history[age * row] = older;
    if (older > largest) largest = older;
  }
  history[0] = latest;
  const float scale = fp8_scale(largest, tensor < state.e4m3 ? Fp8Format::e4m3 : Fp8Format::e5m2);
  if (scale == 0.0F) return;
  at[row] = scale;
  at[2 * row] = 1.0F / scale;
}

/// Nothing remembered; scales are `e4m3_scale` and `e5m2_scale`, powers of two.
void launch_fp8_reset(const Fp8ScalingState& state, float e4m3_scale, float e5m2_scale, cudaStream_t stream);

/// fp8_update_tensor of all tensors.
constexpr std::int64_t fp8_update_bytes(std::int64_t tensors) {
  return fp8_state_bytes(tensors) + (kFp8History + 3) * tensors * std::int64_t{sizeof(float)};
}
void launch_fp8_update(const Fp8ScalingState& state, cudaStream_t stream);

/// Current scaling, for tensors whose values are there before they are stored: amax[t] = max |inp[t]| over
/// `count` values each, inp (tensors, count). amax is zero before.
constexpr std::int64_t fp8_amax_bytes(std::int64_t tensors, std::int64_t count) {
  return tensors * (count + 1) * std::int64_t{sizeof(float)};
}
constexpr std::int64_t fp8_amax_flops(std::int64_t tensors, std::int64_t count) {
  return tensors * count;
}
void launch_fp8_amax(std::uint32_t* amax, const float* inp, std::int64_t tensors, std::int64_t count,
                     cudaStream_t stream);

/// scale and inverse from amax, in E4M3; amax is zero again. What has no magnitude gets scale 1.
void launch_fp8_current_scales(float* scale, float* inverse, std::uint32_t* amax, std::int64_t tensors,
                               cudaStream_t stream);

}  // namespace ridgeline::gpt2
