#include <algorithm>
#include <cstdio>

#include "gpt2/bench/bench.h"
#include "gpt2/common/launch.h"

namespace ridgeline::gpt2::bench {
namespace {

constexpr double kFlopsPerClock = 4096.0;  // dense bf16, of one multiprocessor of sm_90

// Cycle counter and time of multiprocessor 0, twice: their differences give its clock.
struct ClockSample {
  unsigned long long cycles;
  unsigned long long time_ns;
};

__global__ void sample_clock_kernel(ClockSample* sample) {
  unsigned multiprocessor;
  asm volatile("mov.u32 %0, %%smid;" : "=r"(multiprocessor));
  if (multiprocessor != 0 || threadIdx.x != 0) return;
  unsigned long long time_ns;
  asm volatile("mov.u64 %0, %%globaltimer;" : "=l"(time_ns));
  *sample = {static_cast<unsigned long long>(clock64()), time_ns};
}

}  // namespace

void Bench::add(const std::string& name, std::int64_t bytes, std::int64_t flops, Launch launch) {
  if (name.find(settings_.only) == std::string::npos) return;
  rows_.push_back({name, static_cast<double>(bytes), static_cast<double>(flops), std::move(launch)});
}

double Bench::timed_us(Row& row, int count) {
  Event start;
  Event stop;
  start.record(stream_.get());
  for (int i = 0; i < count; ++i) row.launch(row.uses++, stream_.get());
  stop.record(stream_.get());
  stop.synchronize();
  return static_cast<double>(stop.elapsed_ms_since(start)) * 1e3 / count;
}

void Bench::time_block(Row& row) {
  // Enough blocks that one of them is on multiprocessor 0.
  const auto blocks = static_cast<unsigned>(2 * multiprocessor_count());
  DeviceBuffer<ClockSample> samples(2);
  const double once_us = timed_us(row, 5);
  const int count = static_cast<int>(settings_.block_ms * 1e3 / once_us) + 1;
  timed_us(row, count);
  sample_clock_kernel<<<blocks, 32, 0, stream_.get()>>>(samples.data());
  row.times_us.push_back(timed_us(row, count));
  sample_clock_kernel<<<blocks, 32, 0, stream_.get()>>>(samples.data() + 1);
  RIDGELINE_CUDA_CHECK_LAUNCH();
  stream_.synchronize();
  const std::vector<ClockSample> host = samples.download();
  row.clock_hz = static_cast<double>(host[1].cycles - host[0].cycles) /
                 static_cast<double>(host[1].time_ns - host[0].time_ns) * 1e9;
}

void Bench::measure() {
  RIDGELINE_CUDA_CHECK(cudaDeviceSynchronize());
  for (Row& row : rows_) row.launch(row.uses++, stream_.get());  // first use: plans, searches
  stream_.synchronize();
  for (int round = 0; round < settings_.rounds; ++round) {
    for (Row& row : rows_) time_block(row);
  }
  for (Row& row : rows_) {
    std::sort(row.times_us.begin(), row.times_us.end());
    const double time_us = row.times_us[row.times_us.size() / 2];
    const double peak = kFlopsPerClock * multiprocessor_count() * row.clock_hz;
    std::printf("%-52s%10.1f%10.1f..%-8.1f%8.0f%9.1f%7.3f%7.1f\n", row.name.c_str(), time_us,
                row.times_us.front(), row.times_us.back(), row.bytes / time_us / 1e3,
                row.flops / time_us / 1e6, row.clock_hz / 1e9, 100.0 * row.flops / (time_us * 1e-6) / peak);
    std::fflush(stdout);
  }
  rows_.clear();
}

}  // namespace ridgeline::gpt2::bench
