#include "gpt2/train/machine/gpu_peak.h"

#include "gpt2/common/cuda_check.h"

namespace ridgeline::gpt2 {
namespace {

// Dense FLOP a clock and SM: NVIDIA's architecture white papers (GA100, GH100, GB100: "peak rates").
double flop_per_clock_per_sm(int major, int minor, Precision precision) {
  const int cc = 10 * major + minor;
  switch (precision) {
    case Precision::bf16:
      return cc == 80 ? 2048 : cc == 90 ? 4096 : cc == 100 ? 8192 : 0;
    case Precision::fp8:
      return cc == 90 ? 8192 : cc == 100 ? 16384 : 0;
    case Precision::tf32:
      return cc == 80 ? 1024 : cc == 90 ? 2048 : cc == 100 ? 4096 : 0;
    case Precision::fp32:
      return cc == 80 ? 128 : cc == 90 || cc == 100 ? 256 : 0;
  }
  return 0;
}

// H100 and H200 SXM: 132 SMs, specified at 1.83 GHz although they may boost to 1.98 GHz.
double sxm_hopper_spec(Precision precision) {
  switch (precision) {
    case Precision::bf16:
      return 989.4e12;
    case Precision::fp8:
      return 1978.9e12;
    case Precision::tf32:
      return 494.7e12;
    case Precision::fp32:
      return 66.9e12;
  }
  return 0;
}

}  // namespace

GpuPeak gpu_peak(Precision precision) {
  int device = 0;
  RIDGELINE_CUDA_CHECK(cudaGetDevice(&device));
  cudaDeviceProp properties{};
  RIDGELINE_CUDA_CHECK(cudaGetDeviceProperties(&properties, device));
  int clock_khz = 0;
  RIDGELINE_CUDA_CHECK(cudaDeviceGetAttribute(&clock_khz, cudaDevAttrClockRate, device));

  GpuPeak peak;
  peak.name = properties.name;
  peak.sm_count = properties.multiProcessorCount;
  peak.max_clock_hz = 1e3 * clock_khz;
  peak.flop_per_clock_per_sm = flop_per_clock_per_sm(properties.major, properties.minor, precision);
  peak.attribute_flops_per_s = peak.flop_per_clock_per_sm * peak.sm_count * peak.max_clock_hz;
  if (properties.major == 9 && properties.minor == 0 && peak.sm_count == 132) {
    peak.mfu_flops_per_s = sxm_hopper_spec(precision);
    peak.mfu_source = "spec of the H100/H200 SXM";
  } else if (peak.attribute_flops_per_s > 0) {
    peak.mfu_flops_per_s = peak.attribute_flops_per_s;
    peak.mfu_source = "device attributes";
  }
  return peak;
}

}  // namespace ridgeline::gpt2
