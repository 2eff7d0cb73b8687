#include <cuda_runtime.h>

#include <algorithm>
#include <vector>

#include "ceilings/device/clock_probe.h"
#include "gpt2/common/cuda_raii.h"
#include "gpt2/common/launch.h"

namespace ridgeline::ceilings {

namespace {

using gpt2::DeviceBuffer;

// A warp that runs looks at the timer every few cycles; a time slice of another process is a millisecond and more.
constexpr unsigned long long kGapNs = 50'000;

__device__ unsigned long long timer_ns() {
  unsigned long long ns;
  asm volatile("mov.u64 %0, %%globaltimer;" : "=l"(ns));
  return ns;
}

__global__ void probe_kernel(Tick* tick) {
  unsigned multiprocessor;
  asm volatile("mov.u32 %0, %%smid;" : "=r"(multiprocessor));
  if (multiprocessor != 0 || threadIdx.x != 0) return;
  const unsigned long long time_ns = timer_ns();
  tick->cycles = static_cast<unsigned long long>(clock64());
  tick->time_ns = time_ns;
  __threadfence_system();
}

__global__ void watch_kernel(unsigned long long* away_ns, unsigned long long for_ns) {
  const unsigned long long begin = timer_ns();
  unsigned long long last = begin;
  unsigned long long away = 0;
  while (last - begin < for_ns) {
    const unsigned long long now = timer_ns();
    if (now - last > kGapNs) away += now - last;
    last = now;
  }
  away_ns[blockIdx.x] = away;
}

}  // namespace

ClockProbe::ClockProbe(int places) : places_(places), blocks_(2 * gpt2::multiprocessor_count()) {
  void* memory = nullptr;
  RIDGELINE_CUDA_CHECK(
      cudaHostAlloc(&memory, static_cast<std::size_t>(places) * sizeof(Tick), cudaHostAllocMapped));
  host_ = static_cast<Tick*>(memory);
  void* mapped = nullptr;
  RIDGELINE_CUDA_CHECK(cudaHostGetDevicePointer(&mapped, memory, 0));
  device_ = static_cast<Tick*>(mapped);
}

ClockProbe::~ClockProbe() {
  RIDGELINE_CUDA_CHECK_NOEXCEPT(cudaFreeHost(host_));
}

void ClockProbe::read(int place, cudaStream_t stream) {
  // Enough blocks that one of them is on SM 0.
  probe_kernel<<<static_cast<unsigned>(blocks_), 32, 0, stream>>>(device_ + place);
  RIDGELINE_CUDA_CHECK_LAUNCH();
}

Tick ClockProbe::at(int place) const {
  const volatile Tick* tick = host_ + place;
  return {tick->cycles, tick->time_ns};
}

double not_running_share(double milliseconds, cudaStream_t stream) {
  const int blocks = gpt2::multiprocessor_count();
  DeviceBuffer<unsigned long long> away(blocks);
  const auto for_ns = static_cast<unsigned long long>(milliseconds * 1e6);
  watch_kernel<<<static_cast<unsigned>(blocks), 1, 0, stream>>>(away.data(), for_ns);
  RIDGELINE_CUDA_CHECK_LAUNCH();
  RIDGELINE_CUDA_CHECK(cudaStreamSynchronize(stream));
  const std::vector<unsigned long long> host = away.download();
  return static_cast<double>(*std::max_element(host.begin(), host.end())) / static_cast<double>(for_ns);
}

}  // namespace ridgeline::ceilings
