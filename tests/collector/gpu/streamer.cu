// A program whose DRAM traffic is known: each kernel streams buffers of several hundred times what L2 holds, once.
// Prints what each kernel reads and writes; tests/gpu/streams.py holds a recording against it.
#include <cuda_runtime.h>
#include <nvtx3/nvToolsExt.h>
#include <unistd.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstdio>

namespace {

constexpr int kThreads = 512, kSteps = 24;

// Every thread of the grid at a distance of a grid: each byte is touched by one thread, once.
template <typename Visit>
__device__ void stream(std::size_t count, Visit visit) {
  const std::size_t stride = std::size_t{gridDim.x} * blockDim.x;
  for (std::size_t i = std::size_t{blockIdx.x} * blockDim.x + threadIdx.x; i < count; i += stride) visit(i);
}

}  // namespace

// C names, so that the checker finds them.
extern "C" {
__global__ void stream_write(uint4* to, std::size_t count, unsigned value) {
  stream(count, [&](std::size_t i) { to[i] = make_uint4(value, value, value, value); });
}
__global__ void stream_copy(const uint4* from, uint4* to, std::size_t count) {
  stream(count, [&](std::size_t i) { to[i] = from[i]; });
}
// Writes only if the sum is one that never comes, so that the loads are not removed.
__global__ void stream_read(const uint4* from, std::size_t count, unsigned* out) {
  unsigned sum = 0;
  stream(count, [&](std::size_t i) { sum += from[i].x ^ from[i].y ^ from[i].z ^ from[i].w; });
  if (sum == 0xdeadbeef) *out = sum;
}
}

int main() {
  cudaDeviceProp device;
  std::size_t free_bytes = 0, total_bytes = 0;
  if (cudaGetDeviceProperties(&device, 0) != cudaSuccess ||
      cudaMemGetInfo(&free_bytes, &total_bytes) != cudaSuccess) {
    std::fprintf(stderr, "no CUDA device\n");
    return 4;
  }
  // What L2 keeps from one kernel to the next is at most itself: 1 in 400 of what is streamed.
  const std::size_t wanted = std::size_t{400} * static_cast<std::size_t>(device.l2CacheSize);
  const std::size_t bytes = std::min(wanted, free_bytes / 5 * 2) / (1 << 20) * (1 << 20);
  uint4 *a = nullptr, *b = nullptr;
  unsigned* out = nullptr;
  if (cudaMalloc(&a, bytes) != cudaSuccess || cudaMalloc(&b, bytes) != cudaSuccess ||
      cudaMalloc(&out, sizeof(unsigned)) != cudaSuccess) {
    std::fprintf(stderr, "no room for two buffers of %zu bytes\n", bytes);
    return 4;
  }
  const std::size_t count = bytes / sizeof(uint4);
  const unsigned blocks = static_cast<unsigned>(device.multiProcessorCount) * 4;
  for (int step = 0; step < kSteps; ++step) {
    if (step == 2) {  // time for what is prepared in the background
      cudaDeviceSynchronize();
      usleep(1'500'000);
    }
    nvtxRangePushA("step");
    stream_write<<<blocks, kThreads>>>(a, count, static_cast<unsigned>(step));
    stream_copy<<<blocks, kThreads>>>(a, b, count);
    stream_read<<<blocks, kThreads>>>(b, count, out);
    // As a program that reads its loss: the length of a sampling window follows what steps take on the host.
    cudaDeviceSynchronize();
    nvtxRangePop();
  }
  const cudaError_t error = cudaDeviceSynchronize();
  std::printf("%s\n", cudaGetErrorString(error));
  std::printf("stream_write reads 0 writes %zu\n", bytes);
  std::printf("stream_copy reads %zu writes %zu\n", bytes, bytes);
  std::printf("stream_read reads %zu writes 0\n", bytes);
  std::printf("L2 holds %d\n", device.l2CacheSize);
  return error != cudaSuccess;
}
