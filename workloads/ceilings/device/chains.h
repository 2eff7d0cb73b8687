// chains.h: multiply-adds of the FP32 and the FP64 pipe, in registers.
#pragma once

#include "ceilings/core/machine_file.h"
#include "ceilings/device/bench.h"

namespace ridgeline::ceilings {

/// `precision`: "fp32" or "fp64". `part`: of the SMs that work, 0 to 1. `counted`: of the operations, 1 unless
/// a fault is planted.
[[nodiscard]] Bench chain_bench(const DeviceFacts& device, const std::string& precision, double part,
                                double counted, cudaStream_t stream);

}  // namespace ridgeline::ceilings
