// scaling.cu: scales of FP8 tensors from their largest magnitudes
// shapes  state (tensors, 8 + history) FP32; inp (tensors, count) FP32, any count
// bytes   update: 4*tensors*(2*history + 3); amax: 4*tensors*count
// flops   amax: tensors*count
// check   bit for bit: maxima and powers of two are exact
// bound   latency; amax DRAM
#include <algorithm>

#include "gpt2/common/launch.h"
#include "gpt2/common/nvtx.h"
#include "gpt2/common/packed.cuh"
#include "gpt2/ops/fp8/fp8.cuh"
#include "gpt2/ops/fp8/scaling.h"

namespace ridgeline::gpt2 {
namespace {

constexpr int kBlock = 256;

__global__ void __launch_bounds__(kBlock)
    fp8_reset_kernel(const Fp8ScalingState state, float e4m3_scale, float e5m2_scale) {
  const std::int64_t tensor = std::int64_t{blockIdx.x} * kBlock + threadIdx.x;
  if (tensor >= state.tensors) return;
  float* at = state.of(tensor);
  for (int i = 0; i < kFp8StateFloats; ++i) at[i] = 0.0F;
  const float scale = tensor < state.e4m3 ? e4m3_scale : e5m2_scale;
  at[kFp8ScaleAt] = scale;
  at[kFp8Inverse] = 1.0F / scale;
}

__global__ void __launch_bounds__(kBlock) fp8_update_kernel(const Fp8ScalingState state) {
  const std::int64_t tensor = std::int64_t{blockIdx.x} * kBlock + threadIdx.x;
  if (tensor < state.tensors) fp8_update_tensor(state, tensor);
}

// A grid of (blocks, tensors); kWide: tensors begin at multiples of 16 bytes and end there.
template <bool kWide>
__global__ void __launch_bounds__(kBlock)
    fp8_amax_kernel(std::uint32_t* amax, const float* inp, std::int64_t apart, std::int64_t count) {
  __shared__ float shared[kBlock / kWarpSize];
  const float* tensor = inp + blockIdx.y * apart;
  const std::int64_t first = std::int64_t{blockIdx.x} * kBlock + threadIdx.x;
  const std::int64_t stride = std::int64_t{gridDim.x} * kBlock;
  float largest = 0.0F;
  if constexpr (kWide) {
#pragma unroll 4
    for (std::int64_t i = first; i < count / 4; i += stride) {
      float values[4];
      unpack(load128(tensor + 4 * i), values);
#pragma unroll
      for (int k = 0; k < 4; ++k) largest = fmaxf(largest, fabsf(values[k]));
    }
  } else {
    for (std::int64_t i = first; i < count; i += stride) largest = fmaxf(largest, fabsf(tensor[i]));
  }
  commit_amax(amax + blockIdx.y, largest, shared);
}

__global__ void __launch_bounds__(kBlock)
    fp8_current_scales_kernel(float* scale, float* inverse, std::uint32_t* amax, std::int64_t tensors) {
  const std::int64_t tensor = std::int64_t{blockIdx.x} * kBlock + threadIdx.x;
  if (tensor >= tensors) return;
  const float found = fp8_scale(__uint_as_float(amax[tensor]), Fp8Format::e4m3);
  amax[tensor] = 0U;
  scale[tensor] = found == 0.0F ? 1.0F : found;
  inverse[tensor * kFp8InverseStride] = found == 0.0F ? 1.0F : 1.0F / found;
}

unsigned blocks_for(std::int64_t tensors) {
  return static_cast<unsigned>(ceil_div(tensors, kBlock));
}

}  // namespace

void launch_fp8_reset(const Fp8ScalingState& state, float e4m3_scale, float e5m2_scale, cudaStream_t stream) {
  if (state.tensors <= 0) return;
  fp8_reset_kernel<<<blocks_for(state.tensors), kBlock, 0, stream>>>(state, e4m3_scale, e5m2_scale);
  RIDGELINE_CUDA_CHECK_LAUNCH();
}

void launch_fp8_update(const Fp8ScalingState& state, cudaStream_t stream) {
  const NvtxRange range("fp8_update", {fp8_update_bytes(state.tensors), 0});
  if (state.tensors <= 0) return;
  fp8_update_kernel<<<blocks_for(state.tensors), kBlock, 0, stream>>>(state);
  RIDGELINE_CUDA_CHECK_LAUNCH();
}

void launch_fp8_amax(std::uint32_t* amax, const float* inp, std::int64_t tensors, std::int64_t stride,
                     std::int64_t count, cudaStream_t stream) {
  const NvtxRange range("fp8_amax", {fp8_amax_bytes(tensors, count), fp8_amax_flops(tensors, count)});
  if (tensors <= 0 || count <= 0) return;
  const bool wide = is_aligned_16(inp) && count % 4 == 0 && stride % 4 == 0;
  // A few blocks a multiprocessor, divided among the tensors.
  const std::int64_t most = ceil_div(8LL * multiprocessor_count(), tensors);
  const std::int64_t blocks = std::clamp<std::int64_t>(ceil_div(count, 16 * kBlock), 1, most);
  const dim3 grid(static_cast<unsigned>(blocks), static_cast<unsigned>(tensors));
  auto* kernel = wide ? fp8_amax_kernel<true> : fp8_amax_kernel<false>;
  kernel<<<grid, kBlock, 0, stream>>>(amax, inp, stride, count);
  RIDGELINE_CUDA_CHECK_LAUNCH();
}

void launch_fp8_current_scales(float* scale, float* inverse, std::uint32_t* amax, std::int64_t tensors,
                               cudaStream_t stream) {
  const NvtxRange range("fp8_current_scales", {4 * tensors * std::int64_t{sizeof(float)}, 0});
  if (tensors <= 0) return;
  fp8_current_scales_kernel<<<blocks_for(tensors), kBlock, 0, stream>>>(scale, inverse, amax, tensors);
  RIDGELINE_CUDA_CHECK_LAUNCH();
}

}  // namespace ridgeline::gpt2
