// Five kernels whose places on a roofline are known: a triad, a product, a read at a stride, a chase of pointers and a
// kernel that does nothing. Prints what each must move and compute; tests/gpu/places.py holds a recording and Nsight
// Compute against it.
#include <cublas_v2.h>
#include <cuda_bf16.h>
#include <cuda_runtime.h>
#include <nvtx3/nvToolsExt.h>
#include <unistd.h>

#include <cstddef>
#include <cstdio>
#include <cstdlib>

namespace {

constexpr int kThreads = 512;
constexpr std::size_t kTriad = std::size_t{1}
                               << 29;  // floats: what L2 keeps of 6 GB is less than a hundredth
constexpr std::size_t kSectors = std::size_t{1} << 27;  // of 32 bytes: 4 GiB
constexpr std::size_t kPlaces = std::size_t{1} << 25;   // of the chase, of 32 bytes: 1 GiB
constexpr int kHops = 4096;                             // of each block of the chase
constexpr int kProduct = 8192;                          // rows, columns and depth
constexpr std::size_t kSectorWords = 8;                 // of 4 bytes in a sector

template <typename Visit>
__device__ void each(std::size_t count, Visit visit) {
  const std::size_t stride = std::size_t{gridDim.x} * blockDim.x;
  for (std::size_t i = std::size_t{blockIdx.x} * blockDim.x + threadIdx.x; i < count; i += stride) visit(i);
}

void fail(const char* what) {
  std::fprintf(stderr, "%s\n", what);
  std::exit(4);
}

template <typename T>
T* device_array(std::size_t count) {
  T* pointer = nullptr;
  if (cudaMalloc(&pointer, count * sizeof(T)) != cudaSuccess) fail("no room in the memory of the device");
  if (cudaMemset(pointer, 0, count * sizeof(T)) != cudaSuccess)
    fail("the memory of the device cannot be set");
  return pointer;
}

}  // namespace

// C names, so that the checker finds them.
extern "C" {
__global__ void place_triad(float* a, const float4* b, const float4* c, float scale, std::size_t count) {
  each(count / 4, [&](std::size_t i) {
    const float4 x = b[i], y = c[i];
    reinterpret_cast<float4*>(a)[i] = make_float4(fmaf(scale, y.x, x.x), fmaf(scale, y.y, x.y),
                                                  fmaf(scale, y.z, x.z), fmaf(scale, y.w, x.w));
  });
}
// Of each sector one word: an eighth of what moves is asked for. Writes only if the sum is one that never comes.
__global__ void place_strided(const unsigned* from, std::size_t sectors, unsigned* out) {
  unsigned sum = 0;
  each(sectors, [&](std::size_t i) { sum += from[i * kSectorWords]; });
  if (sum == 0xdeadbeef) *out = sum;
}
// A ring through all places, in an order that no cache foresees: the next place is in memory, so that each load waits
// for the one before it. One thread a block.
__global__ void place_chase(const unsigned* places, unsigned* out) {
  unsigned at = (blockIdx.x * 2654435761u) % kPlaces;
  for (int hop = 0; hop < kHops; ++hop) at = places[std::size_t{at} * kSectorWords];
  if (at == 0xdeadbeef) *out = at;
}
__global__ void place_nothing() {}
// The full period of a linear congruential generator: modulus a power of two, increment odd, multiplier 1 modulo 4.
__global__ void prepare_chase(unsigned* places) {
  each(kPlaces, [&](std::size_t i) {
    places[i * kSectorWords] = static_cast<unsigned>((i * 1664525 + 1013904223) % kPlaces);
  });
}
__global__ void prepare_product(__nv_bfloat16* a, __nv_bfloat16* b, std::size_t count) {
  each(count, [&](std::size_t i) {
    const auto value = [](std::size_t x) {
      return static_cast<float>((x * 2654435761u >> 8) % 2048) / 1024.0f - 1.0f;
    };
    a[i] = __float2bfloat16(value(i));
    b[i] = __float2bfloat16(value(i + 77));
  });
}
}

int main(int count, char** arguments) {
  const int steps = count > 1 ? std::atoi(arguments[1]) : 0;
  cudaDeviceProp device;
  if (steps <= 0 || cudaGetDeviceProperties(&device, 0) != cudaSuccess)
    fail("usage: agent_places STEPS, on a CUDA device");
  auto *a = device_array<float>(kTriad), *b = device_array<float>(kTriad), *c = device_array<float>(kTriad);
  auto* strided = device_array<unsigned>(kSectors * kSectorWords);
  auto* places = device_array<unsigned>(kPlaces * kSectorWords);
  auto* out = device_array<unsigned>(1);
  constexpr std::size_t kElements = std::size_t{kProduct} * kProduct;
  auto *left = device_array<__nv_bfloat16>(kElements), *right = device_array<__nv_bfloat16>(kElements),
       *product = device_array<__nv_bfloat16>(kElements);
  const auto blocks = static_cast<unsigned>(device.multiProcessorCount) * 4;
  prepare_chase<<<blocks, kThreads>>>(places);
  prepare_product<<<blocks, kThreads>>>(left, right, kElements);
  cublasHandle_t cublas = nullptr;
  if (cublasCreate(&cublas) != CUBLAS_STATUS_SUCCESS) fail("cuBLAS does not start");
  const float one = 1, zero = 0;
  for (int step = 0; step < steps; ++step) {
    if (step == 2) {  // time for what is prepared in the background
      cudaDeviceSynchronize();
      usleep(1'500'000);
    }
    nvtxRangePushA("step");
    place_triad<<<blocks, kThreads>>>(a, reinterpret_cast<const float4*>(b),
                                      reinterpret_cast<const float4*>(c), 1.5f, kTriad);
    if (cublasGemmEx(cublas, CUBLAS_OP_T, CUBLAS_OP_N, kProduct, kProduct, kProduct, &one, left, CUDA_R_16BF,
                     kProduct, right, CUDA_R_16BF, kProduct, &zero, product, CUDA_R_16BF, kProduct,
                     CUBLAS_COMPUTE_32F, CUBLAS_GEMM_DEFAULT) != CUBLAS_STATUS_SUCCESS)
      fail("cuBLAS refuses the product");
    place_strided<<<blocks, kThreads>>>(strided, kSectors, out);
    place_chase<<<static_cast<unsigned>(device.multiProcessorCount), 1>>>(places, out);
    place_nothing<<<1, 32>>>();
    // As a program that reads its loss: the length of a sampling window follows what steps take on the host.
    cudaDeviceSynchronize();
    nvtxRangePop();
  }
  const cudaError_t error = cudaDeviceSynchronize();
  std::printf("%s\n", cudaGetErrorString(error));
  std::printf("place_triad bytes %zu flops %zu\n", 3 * kTriad * sizeof(float), 2 * kTriad);
  std::printf("place_product bytes 0 flops %.0f\n", 2.0 * kProduct * kProduct * kProduct);
  std::printf("place_strided bytes %zu flops 0\n", kSectors * 32);
  std::printf("place_chase bytes %zu flops 0\n",
              static_cast<std::size_t>(device.multiProcessorCount) * kHops * 32);
  std::printf("place_nothing bytes 0 flops 0\n");
  return error != cudaSuccess;
}
