// A program whose floating-point instructions are known, one kind a kernel: what tests/gpu/instructions.py
// expects. Prints threads and loops; each thread executes one instruction of its kernel's kind a loop.
#include <cuda_fp16.h>
#include <nvtx3/nvToolsExt.h>
#include <unistd.h>

#include <cstdio>

namespace {

constexpr int kBlocks = 264, kThreads = 128, kLoops = 100, kSteps = 16;

struct Fma {
  template <typename T>
  static __device__ T apply(T x, T y) {
    return x * y + y;
  }
};
template <>
__device__ float Fma::apply(float x, float y) {
  return __fmaf_rn(x, y, y);
}
template <>
__device__ double Fma::apply(double x, double y) {
  return __fma_rn(x, y, y);
}
template <>
__device__ __half2 Fma::apply(__half2 x, __half2 y) {
  return __hfma2(x, y, y);
}
struct Add {
  static __device__ float apply(float x, float y) { return __fadd_rn(x, y); }
  static __device__ double apply(double x, double y) { return __dadd_rn(x, y); }
};
struct Multiply {
  static __device__ float apply(float x, float y) { return __fmul_rn(x, y); }
  static __device__ double apply(double x, double y) { return __dmul_rn(x, y); }
};

template <typename Operation, typename T>
__device__ void repeat(T* p, T y) {
  T x = p[threadIdx.x];
  for (int i = 0; i < kLoops; ++i) x = Operation::apply(x, y);
  p[threadIdx.x] = x;
}

}  // namespace

// C names, so that the checker finds them.
extern "C" {
__global__ void count_ffma(float* p, float y) {
  repeat<Fma>(p, y);
}
__global__ void count_fadd(float* p, float y) {
  repeat<Add>(p, y);
}
__global__ void count_fmul(float* p, float y) {
  repeat<Multiply>(p, y);
}
__global__ void count_dfma(double* p, double y) {
  repeat<Fma>(p, y);
}
__global__ void count_dadd(double* p, double y) {
  repeat<Add>(p, y);
}
__global__ void count_dmul(double* p, double y) {
  repeat<Multiply>(p, y);
}
__global__ void count_hfma(__half2* p, __half2 y) {
  repeat<Fma>(p, y);
}
__global__ void half_ffma(float* p, float y) {
  if (threadIdx.x % 2 == 0) repeat<Fma>(p, y);
}
__global__ void count_none(int* p) {
  p[threadIdx.x] += 1;
}
// Waits on memory with every warp: the chase of a pointer through device memory.
__global__ void chase(const unsigned* next, unsigned* out, int hops) {
  unsigned at = blockIdx.x * blockDim.x + threadIdx.x;
  for (int i = 0; i < hops; ++i) at = next[at];
  out[blockIdx.x * blockDim.x + threadIdx.x] = at;
}
__global__ void make_links(unsigned* next, unsigned n) {
  for (unsigned i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x)
    next[i] = static_cast<unsigned>((i * 2654435761ull + 12345) % n);
}
}

int main() {
  constexpr unsigned kLinks = 1u << 26;
  void* p = nullptr;
  unsigned* next = nullptr;
  cudaMalloc(&p, 1 << 20);
  cudaMalloc(&next, kLinks * sizeof(unsigned));
  cudaMemset(p, 0, 1 << 20);
  make_links<<<1024, 256>>>(next, kLinks);
  for (int step = 0; step < kSteps; ++step) {
    if (step == 2) {  // time for what is prepared in the background
      cudaDeviceSynchronize();
      usleep(1'500'000);
    }
    nvtxRangePushA("step");
    auto* f = static_cast<float*>(p);
    auto* d = static_cast<double*>(p);
    count_ffma<<<kBlocks, kThreads>>>(f, 1.5f);
    count_fadd<<<kBlocks, kThreads>>>(f, 1.5f);
    count_fmul<<<kBlocks, kThreads>>>(f, 1.5f);
    count_dfma<<<kBlocks, kThreads>>>(d, 1.5);
    count_dadd<<<kBlocks, kThreads>>>(d, 1.5);
    count_dmul<<<kBlocks, kThreads>>>(d, 1.5);
    count_hfma<<<kBlocks, kThreads>>>(static_cast<__half2*>(p), __float2half2_rn(1.5f));
    half_ffma<<<kBlocks, kThreads>>>(f, 1.5f);
    count_none<<<1, 32>>>(static_cast<int*>(p));
    chase<<<kBlocks, kThreads>>>(next, static_cast<unsigned*>(p), 2000);
    nvtxRangePop();
  }
  const cudaError_t error = cudaDeviceSynchronize();
  std::printf("%s threads %d loops %d\n", cudaGetErrorString(error), kBlocks * kThreads, kLoops);
  return error != cudaSuccess;
}
