// gpu_peak.h: what the GPU could do at most, and where that figure comes from.
#pragma once

#include <string>

#include "gpt2/model/gpu_model.h"

namespace ridgeline::gpt2 {

struct GpuPeak {
  std::string name;
  int sm_count = 0;
  double max_clock_hz = 0;
  double attribute_flops_per_s = 0;  // SMs x dense FLOP/clock/SM x maximum clock; 0: the rate is not known
  double flop_per_clock_per_sm = 0;
  double mfu_flops_per_s = 0;  // the denominator of MFU; 0: unknown, MFU is n/a
  std::string mfu_source;      // "spec of the H100/H200 SXM" or "device attributes"
};

/// Peak of the current device for dense GEMMs in `precision`. FP32 counts the FMA pipes, TF32, BF16 and FP8 the
/// tensor cores. Throws Error when the CUDA runtime fails.
GpuPeak gpu_peak(Precision precision);

}  // namespace ridgeline::gpt2
