// clocked_timing.cuh: times of variants that take turns in blocks, each after as long a warm-up, so that the power
// limit acts on all of them, and the clock that the multiprocessors had meanwhile.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "gpt2/common/cuda_raii.h"
#include "gpt2/common/launch.h"

namespace ridgeline::gpt2 {

using Launch = std::function<void(cudaStream_t)>;

struct Variant {
  std::string name;
  Launch launch;
  std::vector<double> times_us = {};  // of one launch, one a block
  double clock_hz = 0.0;              // during the last block
};

/// Cycle counter and time of multiprocessor 0, twice: their differences give its clock.
struct ClockSample {
  unsigned long long cycles;
  unsigned long long time_ns;
};

__global__ inline void sample_clock_kernel(ClockSample* sample) {
  unsigned multiprocessor;
  asm volatile("mov.u32 %0, %%smid;" : "=r"(multiprocessor));
  if (multiprocessor != 0 || threadIdx.x != 0) return;
  unsigned long long time_ns;
  asm volatile("mov.u64 %0, %%globaltimer;" : "=l"(time_ns));
  *sample = {static_cast<unsigned long long>(clock64()), time_ns};
}

inline double timed_us(const Launch& launch, int count, cudaStream_t stream) {
  Event start;
  Event stop;
  start.record(stream);
  for (int i = 0; i < count; ++i) launch(stream);
  stop.record(stream);
  stop.synchronize();
  return static_cast<double>(stop.elapsed_ms_since(start)) * 1e3 / count;
}

/// One block of block_ms.
inline void measure(Variant& variant, double block_ms, cudaStream_t stream) {
  // Enough blocks that one of them is on multiprocessor 0.
  const auto blocks = static_cast<unsigned>(2 * multiprocessor_count());
  DeviceBuffer<ClockSample> samples(2);
  const double once_us = timed_us(variant.launch, 5, stream);
  const int count = static_cast<int>(block_ms * 1e3 / once_us) + 1;
  timed_us(variant.launch, count, stream);
  sample_clock_kernel<<<blocks, 32, 0, stream>>>(samples.data());
  variant.times_us.push_back(timed_us(variant.launch, count, stream));
  sample_clock_kernel<<<blocks, 32, 0, stream>>>(samples.data() + 1);
  RIDGELINE_CUDA_CHECK_LAUNCH();
  RIDGELINE_CUDA_CHECK(cudaStreamSynchronize(stream));
  const std::vector<ClockSample> host = samples.download();
  variant.clock_hz = static_cast<double>(host[1].cycles - host[0].cycles) /
                     static_cast<double>(host[1].time_ns - host[0].time_ns) * 1e9;
}

}  // namespace ridgeline::gpt2
