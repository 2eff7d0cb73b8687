// clock_probe.h: the SMs' clock and the GPU's time, read by the GPU itself between kernels of a stream.
#pragma once

#include <cuda_runtime_api.h>

#include <cstdint>

namespace ridgeline::ceilings {

/// Cycles of SM 0 and nanoseconds of the GPU's timer at one moment.
struct Tick {
  unsigned long long cycles;
  unsigned long long time_ns;
};

/// Between two moments.
struct Interval {
  double seconds = 0;
  double clock_hz = 0;
};
[[nodiscard]] inline Interval between(const Tick& from, const Tick& to) {
  const auto ns = static_cast<double>(to.time_ns - from.time_ns);
  return {ns / 1e9, ns > 0 ? static_cast<double>(to.cycles - from.cycles) / ns * 1e9 : 0};
}

/// Memory of the host that kernels of the device write ticks into.
class ClockProbe {
 public:
  explicit ClockProbe(int places);
  ~ClockProbe();
  ClockProbe(const ClockProbe&) = delete;
  ClockProbe& operator=(const ClockProbe&) = delete;

  [[nodiscard]] int places() const { return places_; }
  /// Queues a reading; about two microseconds on the GPU.
  void read(int place, cudaStream_t stream);
  /// What it read; the stream must have gone past it.
  [[nodiscard]] Tick at(int place) const;

 private:
  int places_;
  int blocks_ = 1;
  Tick* host_ = nullptr;    // pinned
  Tick* device_ = nullptr;  // the same memory, as the device sees it
};

/// Watches the GPU's timer on every SM for `milliseconds` and adds up the gaps in which its warps did not run:
/// time that the GPU gave to other processes. Returns the share of the time, of the SM that was away longest.
/// Synchronous.
[[nodiscard]] double not_running_share(double milliseconds, cudaStream_t stream);

}  // namespace ridgeline::ceilings
