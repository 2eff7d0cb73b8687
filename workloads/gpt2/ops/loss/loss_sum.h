// loss_sum.h: the losses of all positions to one number on the device.
#pragma once

#include <cuda_runtime_api.h>

#include <cstdint>

namespace ridgeline::gpt2 {

/// *out = scale * sum(losses[0..n)) (+ the old *out if accumulate). Real is float or double.
template <typename Real>
void loss_sum_cpu(Real* out, const Real* losses, std::int64_t n, Real scale, bool accumulate);

constexpr std::int64_t loss_sum_bytes(std::int64_t n) {
  return n * std::int64_t{sizeof(float)};
}
constexpr std::int64_t loss_sum_flops(std::int64_t n) {
  return n;
}

/// One block, sums in a fixed order: deterministic. out is one float on the device; accumulate adds to what it
/// holds (gradient accumulation: scale = 1 / (tokens of the whole step), accumulate from the second on).
void launch_loss_sum(float* out, const float* losses, std::int64_t n, float scale, bool accumulate,
                     cudaStream_t stream);

}  // namespace ridgeline::gpt2
