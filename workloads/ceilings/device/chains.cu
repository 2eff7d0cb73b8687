// chains.cu: x = x * a + b, eight chains in each thread.
// shapes  out [blocks * threads], one sum of eight chains each
// flops   2 * 8 * iterations for each thread
// check   threads of the first and the last block, bit for bit as the CPU computes them with fused multiply-adds
// bound   FP32 or FP64 pipe
#include <cuda_runtime.h>

#include <algorithm>
#include <cmath>
#include <memory>

#include "ceilings/core/per_cycle.h"
#include "ceilings/device/chains.h"
#include "ceilings/device/random_data.h"
#include "gpt2/common/cuda_raii.h"
#include "gpt2/common/launch.h"

namespace ridgeline::ceilings {

namespace {

constexpr int kChains = 8;
constexpr int kThreads = 512;
constexpr int kBlocksPerSm = 4;
constexpr std::uint32_t kSeed = 31;
constexpr double kLaunchS = 1e-3;  // about what a launch takes at the pipe's peak

// |a| just below 1 and negative: values swing from one side of the fixed point to the other, so that bits keep
// toggling.
template <typename T>
constexpr T kA = static_cast<T>(-0.99995);
template <typename T>
constexpr T kB = static_cast<T>(0.7);

template <typename T>
RIDGELINE_BOTH T start_of(std::uint64_t thread, int chain) {
  return static_cast<T>(random_bits(kSeed, thread * kChains + static_cast<std::uint64_t>(chain)) >> 8) /
         static_cast<T>(1 << 24);
}

template <typename T>
__global__ void __launch_bounds__(kThreads, kBlocksPerSm) chain_kernel(T* out, T a, T b, int iterations) {
  const std::uint64_t thread = static_cast<std::uint64_t>(blockIdx.x) * kThreads + threadIdx.x;
  T x[kChains];
#pragma unroll
  for (int c = 0; c < kChains; ++c) x[c] = start_of<T>(thread, c);
#pragma unroll 16
  for (int i = 0; i < iterations; ++i) {
#pragma unroll
    for (int c = 0; c < kChains; ++c) x[c] = fma(x[c], a, b);
  }
  T sum = 0;
#pragma unroll
  for (int c = 0; c < kChains; ++c) sum = sum + x[c];
  out[thread] = sum;
}

template <typename T>
T expected(std::uint64_t thread, int iterations) {
  T sum = 0;
  for (int c = 0; c < kChains; ++c) {
    T x = start_of<T>(thread, c);
    for (int i = 0; i < iterations; ++i) x = std::fma(x, kA<T>, kB<T>);
    sum = sum + x;
  }
  return sum;
}

template <typename T>
Bench make(const DeviceFacts& device, const std::string& precision, double part, double counted,
           cudaStream_t stream) {
  const double per_cycle = operations_per_cycle(device.compute_capability, precision);
  // A part of the SMs has a block each: several would be spread over all of them.
  const int blocks = part < 1 ? std::max(1, static_cast<int>(std::lround(device.sm_count * part)))
                              : device.sm_count * kBlocksPerSm;
  // Of an architecture that is not known as if an SM did 128 operations a cycle.
  const double peak = (per_cycle > 0 ? per_cycle : 128) * device.sm_count * device.max_sm_clock_hz;
  const double each = 2.0 * kChains * kThreads * kBlocksPerSm * device.sm_count;
  const int iterations = std::clamp(static_cast<int>(kLaunchS * peak / each) / 16 * 16, 256, 1 << 20);
  auto out = std::make_shared<gpt2::DeviceBuffer<T>>(std::int64_t{blocks} * kThreads);
  Bench bench;
  bench.name = {Level::compute, precision, {}};
  bench.unit = "ops_per_s";
  bench.work = 2.0 * kChains * iterations * kThreads * blocks * counted;
  bench.per_cycle_sm = per_cycle;
  bench.configuration = std::to_string(kChains) + " chains x " + std::to_string(kThreads) + " threads x " +
                        std::to_string(blocks) + " blocks";
  bench.launch = [=](cudaStream_t st) {
    chain_kernel<T>
        <<<static_cast<unsigned>(blocks), kThreads, 0, st>>>(out->data(), kA<T>, kB<T>, iterations);
    RIDGELINE_CUDA_CHECK_LAUNCH();
  };
  bench.check = [=] {
    RIDGELINE_CUDA_CHECK(cudaStreamSynchronize(stream));
    const std::vector<T> results = out->download();
    for (const std::size_t thread :
         {std::size_t{0}, std::size_t{1}, results.size() / 2, results.size() - 1}) {
      if (results[thread] != expected<T>(thread, iterations))
        return "the chains of thread " + std::to_string(thread) + " in " + precision +
               " are not what the CPU computes";
    }
    return std::string();
  };
  return bench;
}

}  // namespace

Bench chain_bench(const DeviceFacts& device, const std::string& precision, double part, double counted,
                  cudaStream_t stream) {
  return precision == "fp64" ? make<double>(device, precision, part, counted, stream)
                             : make<float>(device, precision, part, counted, stream);
}

}  // namespace ridgeline::ceilings
