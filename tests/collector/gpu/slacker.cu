// A program whose critical path is known: two streams that spin, joined by events at the end of each step.
//
// usage: agent_slacker STEPS. After the fork the main stream spins 3 ms in two kernels, the side stream 1 ms in one:
// the side kernel may come 2 ms later before the step gets longer, and every kernel of the main stream is critical.
#include <cuda_runtime.h>
#include <nvtx3/nvToolsExt.h>

#include <cstdio>
#include <cstdlib>

namespace {

__device__ unsigned long long now_ns() {
  unsigned long long ns;
  asm volatile("mov.u64 %0, %%globaltimer;" : "=l"(ns));
  return ns;
}

__device__ void spin(unsigned long long ns) {
  const unsigned long long since = now_ns();
  while (now_ns() - since < ns) {
  }
}

}  // namespace

// C names, so that the checker finds them.
extern "C" {
__global__ void slack_main(unsigned long long ns, unsigned* steps) {
  spin(ns);
  if (steps != nullptr) ++*steps;
}
__global__ void slack_side(unsigned long long ns) {
  spin(ns);
}
}

int main(int count, char** arguments) {
  const int steps = count > 1 ? std::atoi(arguments[1]) : 0;
  unsigned* done = nullptr;
  cudaStream_t main_stream, side_stream;
  cudaEvent_t forked, joined;
  if (steps <= 0 || cudaMalloc(&done, sizeof *done) != cudaSuccess ||
      cudaMemset(done, 0, sizeof *done) != cudaSuccess ||
      cudaStreamCreateWithFlags(&main_stream, cudaStreamNonBlocking) != cudaSuccess ||
      cudaStreamCreateWithFlags(&side_stream, cudaStreamNonBlocking) != cudaSuccess ||
      cudaEventCreateWithFlags(&forked, cudaEventDisableTiming) != cudaSuccess ||
      cudaEventCreateWithFlags(&joined, cudaEventDisableTiming) != cudaSuccess) {
    std::fprintf(stderr, "usage: agent_slacker STEPS, on a CUDA device\n");
    return 4;
  }
  cudaDeviceSynchronize();
  for (int step = 0; step < steps; ++step) {
    nvtxRangePushA("step");
    slack_main<<<1, 1, 0, main_stream>>>(1'000'000, nullptr);
    cudaEventRecord(forked, main_stream);
    cudaStreamWaitEvent(side_stream, forked, 0);
    slack_side<<<1, 1, 0, side_stream>>>(1'000'000);
    cudaEventRecord(joined, side_stream);
    slack_main<<<1, 1, 0, main_stream>>>(2'000'000, nullptr);
    slack_main<<<1, 1, 0, main_stream>>>(1'000'000, nullptr);
    cudaStreamWaitEvent(main_stream, joined, 0);
    slack_main<<<1, 1, 0, main_stream>>>(100'000, done);
    cudaStreamSynchronize(main_stream);
    nvtxRangePop();
  }
  unsigned counted = 0;
  const cudaError_t error = cudaMemcpy(&counted, done, sizeof counted, cudaMemcpyDeviceToHost);
  std::printf("%u steps, %s\n", counted, cudaGetErrorString(error));
  return error != cudaSuccess || counted != static_cast<unsigned>(steps);
}
