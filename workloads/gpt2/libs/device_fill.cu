#include <cuda_bf16.h>

#include <algorithm>

#include "gpt2/common/cuda_check.h"
#include "gpt2/common/dtype.h"
#include "gpt2/libs/device_fill.h"

namespace ridgeline::gpt2 {
namespace {

constexpr int kBlock = 256;

int grid_for(std::int64_t n) {
  return static_cast<int>(std::min<std::int64_t>((n + kBlock - 1) / kBlock, 132 * 16));
}

// splitmix64's output function: every bit of the result depends on every bit of the argument.
__device__ std::uint64_t mix(std::uint64_t x) {
  x += 0x9E3779B97F4A7C15ULL;
  x = (x ^ (x >> 30)) * 0xBF58476D1CE4E5B9ULL;
  x = (x ^ (x >> 27)) * 0x94D049BB133111EBULL;
  return x ^ (x >> 31);
}

__device__ float nearly_normal(std::uint64_t seed, std::int64_t i) {
  const std::uint64_t bits = mix(seed * 0x2545F4914F6CDD1DULL + static_cast<std::uint64_t>(i));
  // The sum of four uniform 16-bit values has variance 4/12 (2^16)^2.
  const int sum =
      static_cast<int>((bits & 0xFFFF) + ((bits >> 16) & 0xFFFF) + ((bits >> 32) & 0xFFFF) + (bits >> 48));
  const float centred = (static_cast<float>(sum) - 2.0F * 65535.0F) / 65536.0F;
  return centred * 1.7320508F;
}

template <class T>
__global__ void fill_normal(T* data, std::int64_t n, float scale, std::uint64_t seed) {
  const std::int64_t stride = static_cast<std::int64_t>(gridDim.x) * blockDim.x;
  for (std::int64_t i = static_cast<std::int64_t>(blockIdx.x) * blockDim.x + threadIdx.x; i < n;
       i += stride) {
    data[i] = from_float<T>(scale * nearly_normal(seed, i));
  }
}

__global__ void fill_normal_fp8(std::uint8_t* data, std::int64_t n, Fp8Format format, std::uint64_t seed) {
  const std::int64_t stride = static_cast<std::int64_t>(gridDim.x) * blockDim.x;
  for (std::int64_t i = static_cast<std::int64_t>(blockIdx.x) * blockDim.x + threadIdx.x; i < n;
       i += stride) {
    data[i] = fp8_bits(16.0F * nearly_normal(seed, i), format);
  }
}

__global__ void add(float* y, const float* x, std::int64_t n) {
  const std::int64_t stride = static_cast<std::int64_t>(gridDim.x) * blockDim.x;
  for (std::int64_t i = static_cast<std::int64_t>(blockIdx.x) * blockDim.x + threadIdx.x; i < n;
       i += stride) {
    y[i] += x[i];
  }
}

// Non-negative floats order as their bits do.
__device__ void atomic_max_positive(float* target, float value) {
  atomicMax(reinterpret_cast<unsigned*>(target), __float_as_uint(value));
}

struct AsItIs {
  template <class T>
  __device__ float operator()(T value) const {
    return to_float(value);
  }
};
struct AsFp8 {
  Fp8Format format;
  __device__ float operator()(std::uint8_t bits) const { return fp8_value(bits, format); }
};

template <class T, class Widen>
__global__ void compare(float* result, const T* a, const T* b, std::int64_t n, const Widen widen) {
  float largest = 0.0F;
  float difference = 0.0F;
  const std::int64_t stride = static_cast<std::int64_t>(gridDim.x) * blockDim.x;
  for (std::int64_t i = static_cast<std::int64_t>(blockIdx.x) * blockDim.x + threadIdx.x; i < n;
       i += stride) {
    const float x = widen(a[i]);
    const float y = widen(b[i]);
    if (isfinite(x)) largest = fmaxf(largest, fabsf(x));
    if (isfinite(x) && isfinite(y)) {
      difference = fmaxf(difference, fabsf(x - y));
    } else if (isfinite(x) != isfinite(y)) {
      difference = __int_as_float(0x7F800000);
    }
  }
  for (int offset = 16; offset > 0; offset >>= 1) {
    largest = fmaxf(largest, __shfl_xor_sync(0xFFFFFFFFU, largest, offset));
    difference = fmaxf(difference, __shfl_xor_sync(0xFFFFFFFFU, difference, offset));
  }
  if (threadIdx.x % 32 == 0) {
    atomic_max_positive(&result[0], largest);
    atomic_max_positive(&result[1], difference);
  }
}

}  // namespace

template <class T>
void launch_fill_normal(T* data, std::int64_t n, float scale, std::uint64_t seed, cudaStream_t stream) {
  if (n <= 0) return;
  fill_normal<<<grid_for(n), kBlock, 0, stream>>>(data, n, scale, seed);
  RIDGELINE_CUDA_CHECK_LAUNCH();
}

void launch_fill_normal_fp8(std::uint8_t* data, std::int64_t n, Fp8Format format, std::uint64_t seed,
                            cudaStream_t stream) {
  if (n <= 0) return;
  fill_normal_fp8<<<grid_for(n), kBlock, 0, stream>>>(data, n, format, seed);
  RIDGELINE_CUDA_CHECK_LAUNCH();
}

void launch_add(float* y, const float* x, std::int64_t n, cudaStream_t stream) {
  if (n <= 0) return;
  add<<<grid_for(n), kBlock, 0, stream>>>(y, x, n);
  RIDGELINE_CUDA_CHECK_LAUNCH();
}

template <class T>
void launch_compare(float* result, const T* a, const T* b, std::int64_t n, cudaStream_t stream) {
  if (n <= 0) return;
  compare<<<grid_for(n), kBlock, 0, stream>>>(result, a, b, n, AsItIs{});
  RIDGELINE_CUDA_CHECK_LAUNCH();
}

void launch_compare_fp8(float* result, const std::uint8_t* a, const std::uint8_t* b, std::int64_t n,
                        Fp8Format format, cudaStream_t stream) {
  if (n <= 0) return;
  compare<<<grid_for(n), kBlock, 0, stream>>>(result, a, b, n, AsFp8{format});
  RIDGELINE_CUDA_CHECK_LAUNCH();
}

template void launch_fill_normal<float>(float*, std::int64_t, float, std::uint64_t, cudaStream_t);
template void launch_fill_normal<bf16>(bf16*, std::int64_t, float, std::uint64_t, cudaStream_t);
template void launch_compare<float>(float*, const float*, const float*, std::int64_t, cudaStream_t);
template void launch_compare<bf16>(float*, const bf16*, const bf16*, std::int64_t, cudaStream_t);

}  // namespace ridgeline::gpt2
