// launch.h: arithmetic every launcher needs.
#pragma once

#include <cuda_runtime_api.h>

#include <cstdint>

#include "gpt2/common/cuda_check.h"

namespace ridgeline::gpt2 {

constexpr std::int64_t ceil_div(std::int64_t a, std::int64_t b) {
  return (a + b - 1) / b;
}

/// Multiprocessors of the current device; asked once per device.
inline int multiprocessor_count() {
  constexpr int kMaxDevices = 64;
  static int counts[kMaxDevices] = {};
  int device = 0;
  RIDGELINE_CUDA_CHECK(cudaGetDevice(&device));
  if (device < kMaxDevices && counts[device] > 0) return counts[device];
  int count = 0;
  RIDGELINE_CUDA_CHECK(cudaDeviceGetAttribute(&count, cudaDevAttrMultiProcessorCount, device));
  if (device < kMaxDevices) counts[device] = count;
  return count;
}

}  // namespace ridgeline::gpt2
