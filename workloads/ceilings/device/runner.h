// runner.h: takes a benchmark in bursts and as a load of seconds, and says what is wrong with either.
// Life: made once for a device; burst(), sustained() and rate() in any order, one at a time.
#pragma once

#include <memory>
#include <optional>

#include "ceilings/core/machine_file.h"
#include "ceilings/core/plan.h"
#include "ceilings/core/validity.h"
#include "ceilings/device/bench.h"
#include "ceilings/device/clock_probe.h"
#include "ceilings/device/nvml.h"
#include "gpt2/common/cuda_raii.h"

namespace ridgeline::ceilings {

class Runner {
 public:
  /// Keeps references to all. `before`: what was seen on the GPU before this process came to it.
  Runner(const Plan& plan, const DeviceFacts& device, const Nvml& nvml, const Neighbours& before);

  [[nodiscard]] cudaStream_t stream() const { return stream_.get(); }

  /// Work a second, the best of three tries of two launches each: to choose among configurations, no more.
  [[nodiscard]] double rate(const Bench& bench);
  [[nodiscard]] Reading burst(const Bench& bench);
  [[nodiscard]] Reading sustained(const Bench& bench);

 private:
  class Load;
  /// Seconds that a launch takes, after a first one.
  [[nodiscard]] double seconds_of(const Bench& bench);
  void look_for_others(Reading& reading);

  const Plan& plan_;
  const DeviceFacts& device_;
  const Nvml& nvml_;
  Neighbours before_;
  gpt2::Stream stream_;
  ClockProbe probe_;
};

}  // namespace ridgeline::ceilings
