#include <cuda_bf16.h>
#include <cuda_fp16.h>
#include <cuda_fp8.h>
#include <cuda_runtime.h>

#include "ceilings/device/random_data.h"
#include "gpt2/common/cuda_raii.h"

namespace ridgeline::ceilings {

namespace {

using gpt2::DeviceBuffer;

constexpr unsigned kThreads = 256;
constexpr unsigned kBlocks = 4096;

__global__ void fill_floats_kernel(std::uint32_t* words, std::int64_t count, std::uint32_t seed) {
  const std::int64_t step = static_cast<std::int64_t>(gridDim.x) * blockDim.x;
  for (std::int64_t i = static_cast<std::int64_t>(blockIdx.x) * blockDim.x + threadIdx.x; i < count;
       i += step)
    words[i] = random_float_bits(seed, static_cast<std::uint64_t>(i));
}

__global__ void sum_floats_kernel(std::uint32_t* sum, std::int64_t count, std::uint32_t seed) {
  const std::int64_t step = static_cast<std::int64_t>(gridDim.x) * blockDim.x;
  std::uint32_t own = 0;
  for (std::int64_t i = static_cast<std::int64_t>(blockIdx.x) * blockDim.x + threadIdx.x; i < count;
       i += step)
    own += random_float_bits(seed, static_cast<std::uint64_t>(i));
  atomicAdd(sum, own);
}

// The sum of four uniform numbers, scaled to deviation 1: light tails, but as many bits toggle.
__device__ float near_normal(std::uint32_t seed, std::uint64_t i) {
  const std::uint32_t a = random_bits(seed, 2 * i), b = random_bits(seed, 2 * i + 1);
  const float sum = static_cast<float>(a & 0xffffU) + static_cast<float>(a >> 16) +
                    static_cast<float>(b & 0xffffU) + static_cast<float>(b >> 16);
  return (sum - 131070.0F) * (1.7320508F / 65536.0F);
}

template <typename T>
__device__ T element_of(float value);
template <>
__device__ float element_of<float>(float value) {
  return value;
}
template <>
__device__ double element_of<double>(float value) {
  return value;
}
template <>
__device__ __nv_bfloat16 element_of<__nv_bfloat16>(float value) {
  return __float2bfloat16(value);
}
template <>
__device__ __half element_of<__half>(float value) {
  return __float2half(value);
}
template <>
__device__ __nv_fp8_e4m3 element_of<__nv_fp8_e4m3>(float value) {
  return __nv_fp8_e4m3(value);
}

template <typename T>
__global__ void fill_normal_kernel(T* data, std::int64_t count, std::uint32_t seed) {
  const std::int64_t step = static_cast<std::int64_t>(gridDim.x) * blockDim.x;
  for (std::int64_t i = static_cast<std::int64_t>(blockIdx.x) * blockDim.x + threadIdx.x; i < count;
       i += step)
    data[i] = element_of<T>(near_normal(seed, static_cast<std::uint64_t>(i)));
}

__global__ void fill_bytes_kernel(std::int8_t* data, std::int64_t count, std::uint32_t seed) {
  const std::int64_t step = static_cast<std::int64_t>(gridDim.x) * blockDim.x;
  for (std::int64_t i = static_cast<std::int64_t>(blockIdx.x) * blockDim.x + threadIdx.x; i < count;
       i += step)
    data[i] = static_cast<std::int8_t>(
        static_cast<int>(random_bits(seed, static_cast<std::uint64_t>(i)) % 255U) - 127);
}

template <typename T>
void fill_normal(void* data, std::int64_t count, std::uint32_t seed, cudaStream_t stream) {
  fill_normal_kernel<<<kBlocks, kThreads, 0, stream>>>(static_cast<T*>(data), count, seed);
}

}  // namespace

void fill_floats(void* words, std::int64_t count, std::uint32_t seed, cudaStream_t stream) {
  fill_floats_kernel<<<kBlocks, kThreads, 0, stream>>>(static_cast<std::uint32_t*>(words), count, seed);
  RIDGELINE_CUDA_CHECK_LAUNCH();
}

void fill_elements(void* data, std::int64_t count, Element element, std::uint32_t seed, cudaStream_t stream) {
  switch (element) {
    case Element::f32:
      fill_normal<float>(data, count, seed, stream);
      break;
    case Element::f64:
      fill_normal<double>(data, count, seed, stream);
      break;
    case Element::bf16:
      fill_normal<__nv_bfloat16>(data, count, seed, stream);
      break;
    case Element::f16:
      fill_normal<__half>(data, count, seed, stream);
      break;
    case Element::e4m3:
      fill_normal<__nv_fp8_e4m3>(data, count, seed, stream);
      break;
    case Element::i8:
      fill_bytes_kernel<<<kBlocks, kThreads, 0, stream>>>(static_cast<std::int8_t*>(data), count, seed);
      break;
  }
  RIDGELINE_CUDA_CHECK_LAUNCH();
}

std::uint32_t sum_of_floats(std::int64_t count, std::uint32_t seed, cudaStream_t stream) {
  DeviceBuffer<std::uint32_t> sum(1);
  RIDGELINE_CUDA_CHECK(cudaMemsetAsync(sum.data(), 0, sizeof(std::uint32_t), stream));
  sum_floats_kernel<<<kBlocks, kThreads, 0, stream>>>(sum.data(), count, seed);
  RIDGELINE_CUDA_CHECK_LAUNCH();
  RIDGELINE_CUDA_CHECK(cudaStreamSynchronize(stream));
  return sum.download().front();
}

}  // namespace ridgeline::ceilings
