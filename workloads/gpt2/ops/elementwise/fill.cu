// fill.cu: constant fill, zero, and the FP32 -> T conversion
// shapes  data [n]; n >= 0, any n (tail guarded)
// bytes   fill n*sizeof(T); convert n*(4 + sizeof(T)); accumulate 3*n*4
// check   exact
// bound   DRAM
#include "gpt2/common/dtype.h"
#include "gpt2/common/launch.h"
#include "gpt2/common/nvtx.h"
#include "gpt2/common/packed.cuh"
#include "gpt2/ops/elementwise/fill.h"

namespace ridgeline::gpt2 {
namespace {

constexpr int kBlock = 256;

template <typename T>
__global__ void fill_kernel(T* data, T value, std::int64_t n) {
  const std::int64_t i = static_cast<std::int64_t>(blockIdx.x) * blockDim.x + threadIdx.x;
  if (i >= n) return;
  data[i] = value;
}

template <typename T>
__global__ void convert_kernel(T* out, const float* inp, std::int64_t n) {
  const std::int64_t i = static_cast<std::int64_t>(blockIdx.x) * blockDim.x + threadIdx.x;
  if (i >= n) return;
  out[i] = from_float<T>(inp[i]);
}

__global__ void widen_kernel(float* out, const bf16* inp, std::int64_t n) {
  const std::int64_t i = static_cast<std::int64_t>(blockIdx.x) * blockDim.x + threadIdx.x;
  if (i >= n) return;
  out[i] = to_float(inp[i]);
}

__global__ void accumulate_kernel(float* sum, const float* more, std::int64_t n) {
  const std::int64_t i = static_cast<std::int64_t>(blockIdx.x) * blockDim.x + threadIdx.x;
  if (i >= n) return;
  sum[i] += more[i];
}

}  // namespace

void launch_zero(void* data, std::int64_t bytes, cudaStream_t stream) {
  const NvtxRange range("zero", {bytes, 0});
  if (bytes <= 0) return;
  RIDGELINE_CUDA_CHECK(cudaMemsetAsync(data, 0, static_cast<std::size_t>(bytes), stream));
}

template <typename T>
void launch_fill(T* data, float value, std::int64_t n, cudaStream_t stream) {
  const NvtxRange range("fill", {fill_bytes<T>(n), 0});
  if (n <= 0) return;
  fill_kernel<<<static_cast<unsigned>(ceil_div(n, kBlock)), kBlock, 0, stream>>>(data, from_float<T>(value),
                                                                                 n);
  RIDGELINE_CUDA_CHECK_LAUNCH();
}

template <typename T>
void launch_convert(T* out, const float* inp, std::int64_t n, cudaStream_t stream) {
  const NvtxRange range("convert", {fill_bytes<T>(n) + fill_bytes<float>(n), 0});
  if (n <= 0) return;
  convert_kernel<<<static_cast<unsigned>(ceil_div(n, kBlock)), kBlock, 0, stream>>>(out, inp, n);
  RIDGELINE_CUDA_CHECK_LAUNCH();
}

void launch_widen(float* out, const bf16* inp, std::int64_t n, cudaStream_t stream) {
  const NvtxRange range("widen", {fill_bytes<bf16>(n) + fill_bytes<float>(n), 0});
  if (n <= 0) return;
  widen_kernel<<<static_cast<unsigned>(ceil_div(n, kBlock)), kBlock, 0, stream>>>(out, inp, n);
  RIDGELINE_CUDA_CHECK_LAUNCH();
}

void launch_accumulate(float* sum, const float* more, std::int64_t n, cudaStream_t stream) {
  const NvtxRange range("accumulate", {3 * fill_bytes<float>(n), n});
  if (n <= 0) return;
  accumulate_kernel<<<static_cast<unsigned>(ceil_div(n, kBlock)), kBlock, 0, stream>>>(sum, more, n);
  RIDGELINE_CUDA_CHECK_LAUNCH();
}

template void launch_fill<float>(float*, float, std::int64_t, cudaStream_t);
template void launch_fill<bf16>(bf16*, float, std::int64_t, cudaStream_t);
template void launch_convert<float>(float*, const float*, std::int64_t, cudaStream_t);
template void launch_convert<bf16>(bf16*, const float*, std::int64_t, cudaStream_t);

}  // namespace ridgeline::gpt2
