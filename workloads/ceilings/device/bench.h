// bench.h: one micro-benchmark as the runner takes it.
#pragma once

#include <cuda_runtime_api.h>

#include <functional>
#include <string>

#include "ceilings/core/roof.h"

namespace ridgeline::ceilings {

struct Bench {
  RoofName name;
  std::string unit;         // "bytes_per_s" or "ops_per_s"
  double work = 0;          // of a launch, in bytes or operations
  double per_cycle_sm = 0;  // of the architecture; 0: not known
  double limit_per_s = 0;   // of a bus; 0: none
  std::string configuration;
  /// Before the first launch after another benchmark: fills what they share. May be empty.
  std::function<void()> prepare;
  /// One unit of work, queued.
  std::function<void(cudaStream_t)> launch;
  /// After a launch has ended: "" if what it computed is right, else what is wrong.
  std::function<std::string()> check;
};

}  // namespace ridgeline::ceilings
