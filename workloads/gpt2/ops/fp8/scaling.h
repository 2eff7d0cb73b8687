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
/// Floats from one scale or inverse scale to the next: cuBLASLt refuses one whose address is no multiple of 16 bytes.
inline constexpr int kFp8InverseStride = 4;
/// What a tensor has in the state, as places among its floats: the inverse scale, amax of the step that runs, two that
/// are not used, the scale, three that are not used, history from the latest on.
inline constexpr int kFp8Inverse = 0;
inline constexpr int kFp8Amax = 1;
inline constexpr int kFp8ScaleAt = 4;
inline constexpr int kFp8FirstOfHistory = 8;
inline constexpr int kFp8StateFloats = kFp8FirstOfHistory + kFp8History;
static_assert(kFp8ScaleAt % kFp8InverseStride == 0 && kFp8StateFloats % kFp8InverseStride == 0);

constexpr std::int64_t fp8_state_bytes(std::int64_t tensors) {
  return kFp8StateFloats * tensors * std::int64_t{sizeof(float)};
}

/// The state of many tensors, in one piece that a checkpoint can keep: (tensors, kFp8StateFloats) floats, on the device
/// aligned to 16 bytes. The first `e4m3` of the tensors are stored in that format, the others in E5M2.
struct Fp8ScalingState {
  float* data = nullptr;
  std::int64_t tensors = 0;
  std::int64_t e4m3 = 0;

  __host__ __device__ float* of(std::int64_t tensor) const { return data + tensor * kFp8StateFloats; }
  std::uint32_t* amax(std::int64_t tensor) const {
    return reinterpret_cast<std::uint32_t*>(of(tensor) + kFp8Amax);
  }
  const float* scale(std::int64_t tensor) const { return of(tensor) + kFp8ScaleAt; }
  const float* inverse(std::int64_t tensor) const { return of(tensor) + kFp8Inverse; }
};

/// Both on the host and on the device: the state after a step. amax goes to the front of the history and is zero
/// again; one that is not finite counts as nothing there. Without any magnitude remembered the scale stays.
__host__ __device__ inline void fp8_update_tensor(const Fp8ScalingState& state, std::int64_t tensor) {
  float* at = state.of(tensor);
  float latest = at[kFp8Amax];
  if (!(latest <= 3.402823466e38F)) latest = 0.0F;
  at[kFp8Amax] = 0.0F;
  float largest = latest;
  float* history = at + kFp8FirstOfHistory;
  for (int age = kFp8History - 1; age > 0; --age) {
    const float older = history[age - 1];
    history[age] = older;
    if (older > largest) largest = older;
  }
  history[0] = latest;
  const float scale = fp8_scale(largest, tensor < state.e4m3 ? Fp8Format::e4m3 : Fp8Format::e5m2);
  if (scale == 0.0F) return;
  at[kFp8ScaleAt] = scale;
  at[kFp8Inverse] = 1.0F / scale;
}

/// Nothing remembered; scales are `e4m3_scale` and `e5m2_scale`, powers of two.
void launch_fp8_reset(const Fp8ScalingState& state, float e4m3_scale, float e5m2_scale, cudaStream_t stream);

/// fp8_update_tensor of all tensors: amax and all of the history but its oldest read; amax, the history,
/// scale and inverse written.
constexpr std::int64_t fp8_update_bytes(std::int64_t tensors) {
  return (kFp8History + kFp8History + 3) * tensors * std::int64_t{sizeof(float)};
}
void launch_fp8_update(const Fp8ScalingState& state, cudaStream_t stream);

/// Current scaling, for tensors whose values are there before they are stored: amax[t] = max |inp[t]| over
/// `count` values each, which begin `stride` values apart. amax is zero before.
constexpr std::int64_t fp8_amax_bytes(std::int64_t tensors, std::int64_t count) {
  return tensors * (count + 1) * std::int64_t{sizeof(float)};
}
constexpr std::int64_t fp8_amax_flops(std::int64_t tensors, std::int64_t count) {
  return tensors * count;
}
void launch_fp8_amax(std::uint32_t* amax, const float* inp, std::int64_t tensors, std::int64_t stride,
                     std::int64_t count, cudaStream_t stream);

/// scale (tensors) and inverse (tensors, kFp8InverseStride), of which only the first of a row is written, from amax, in
/// E4M3; amax is zero again. What has no magnitude gets scale 1.
void launch_fp8_current_scales(float* scale, float* inverse, std::uint32_t* amax, std::int64_t tensors,
                               cudaStream_t stream);

}  // namespace ridgeline::gpt2
