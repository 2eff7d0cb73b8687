// cast_parts.cu: amax[tensor] = max |inp|, out = fp8(inp * scale[tensor]) over parts of tensors
// shapes  inp FP32, out bytes of E4M3, parts of at most kFp8PartElements elements, each a multiple of 4
// bytes   amax: 4 an element and 24 a part; cast: 5 an element and 24 a part
// flops   1 an element
// check   bit for bit: maxima are exact, a product by a power of two too, and the rounding is one instruction
// bound   DRAM
//
// A block takes a part: it reads 16 bytes a thread and writes 4, so that a warp's accesses are whole lines.
#include <algorithm>
#include <cmath>

#include "gpt2/common/launch.h"
#include "gpt2/common/nvtx.h"
#include "gpt2/common/packed.cuh"
#include "gpt2/ops/fp8/cast_parts.h"
#include "gpt2/ops/fp8/fp8.cuh"

namespace ridgeline::gpt2 {
namespace {

constexpr int kBlock = 256;

__global__ void __launch_bounds__(kBlock)
    fp8_amax_parts_kernel(std::uint32_t* amax, const float* inp, const Fp8Part* parts) {
  __shared__ float shared[kBlock / kWarpSize];
  const Fp8Part part = parts[blockIdx.x];
  const float* from = inp + part.from;
  float largest = 0.0F;
#pragma unroll 4
  for (int i = 4 * static_cast<int>(threadIdx.x); i < part.count; i += 4 * kBlock) {
    float values[4];
    unpack(load128(from + i), values);
#pragma unroll
    for (int k = 0; k < 4; ++k) largest = fmaxf(largest, fabsf(values[k]));
  }
  commit_amax(amax + part.tensor, largest, shared);
}

__global__ void __launch_bounds__(kBlock)
    fp8_cast_parts_kernel(std::uint8_t* out, const float* inp, const float* scales, const Fp8Part* parts) {
  const Fp8Part part = parts[blockIdx.x];
  const float scale = scales[part.tensor];
  const float* from = inp + part.from;
  std::uint8_t* to = out + part.to;
#pragma unroll 4
  for (int i = 4 * static_cast<int>(threadIdx.x); i < part.count; i += 4 * kBlock) {
    float v[4];
    unpack(load128_streaming(from + i), v);
    *reinterpret_cast<std::uint32_t*>(to + i) =
        fp8_word<Fp8Format::e4m3>(v[0] * scale, v[1] * scale, v[2] * scale, v[3] * scale);
  }
}

}  // namespace

void fp8_amax_parts_cpu(float* amax, const float* inp, std::span<const Fp8Part> parts) {
  for (const Fp8Part& part : parts) {
    float& largest = amax[part.tensor];
    for (std::int32_t i = 0; i < part.count; ++i) largest = std::fmax(largest, std::fabs(inp[part.from + i]));
  }
}

void fp8_cast_parts_cpu(std::uint8_t* out, const float* inp, const float* scale,
                        std::span<const Fp8Part> parts) {
  for (const Fp8Part& part : parts) {
    for (std::int32_t i = 0; i < part.count; ++i)
      out[part.to + i] = fp8_bits(inp[part.from + i] * scale[part.tensor], Fp8Format::e4m3);
  }
}

void launch_fp8_amax_parts(std::uint32_t* amax, const float* inp, const Fp8Parts& parts,
                           cudaStream_t stream) {
  const NvtxRange range("fp8_amax_parts",
                        {fp8_amax_parts_bytes(parts.count, parts.elements), parts.elements});
  if (parts.count <= 0) return;
  fp8_amax_parts_kernel<<<static_cast<unsigned>(parts.count), kBlock, 0, stream>>>(amax, inp, parts.data);
  RIDGELINE_CUDA_CHECK_LAUNCH();
}

void launch_fp8_cast_parts(std::uint8_t* out, const float* inp, const float* scale, const Fp8Parts& parts,
                           cudaStream_t stream) {
  const NvtxRange range("fp8_cast_parts",
                        {fp8_cast_parts_bytes(parts.count, parts.elements), parts.elements});
  if (parts.count <= 0) return;
  fp8_cast_parts_kernel<<<static_cast<unsigned>(parts.count), kBlock, 0, stream>>>(out, inp, scale,
                                                                                   parts.data);
  RIDGELINE_CUDA_CHECK_LAUNCH();
}

}  // namespace ridgeline::gpt2
