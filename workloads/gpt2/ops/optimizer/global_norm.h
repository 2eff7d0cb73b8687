// global_norm.h: L2 norm of the whole gradient and the clip scale that follows from it, without the host.
#pragma once

#include <cuda_runtime_api.h>

#include <cstdint>
#include <span>

#include "gpt2/common/switches.h"

namespace ridgeline::gpt2 {

/// What launch_global_norm writes to the device and launch_adamw reads there.
struct GradientNorm {
  float norm = 0.0F;        // sqrt(sum g^2)
  float clip_scale = 1.0F;  // min(1, max_norm / norm); 1 without clipping
  std::int32_t finite = 1;  // 0 when any gradient (or the sum) is NaN or infinite; AdamW then skips the step
};

/// Real is float or double.
template <typename Real>
Real global_norm_cpu(const Real* grads, std::int64_t n);

constexpr std::int64_t global_norm_bytes(std::int64_t n) {
  return n * std::int64_t{sizeof(float)};
}
constexpr std::int64_t global_norm_flops(std::int64_t n) {
  return 2 * n;
}

/// Device bytes of scratch (16-byte aligned, contents irrelevant).
std::int64_t global_norm_scratch_bytes();

/// Two stages in a fixed order (partial sums in FP64): bit-identical from run to run and from device to
/// device. max_norm <= 0 means no clipping (clip_scale 1). out is on the device.
void launch_global_norm(GradientNorm* out, const float* grads, std::int64_t n, float max_norm, void* scratch,
                        cudaStream_t stream, KernelWidth width = KernelWidth::packed);

/// Elements [begin, end) of the gradient buffer.
struct GradientRange {
  std::int64_t begin = 0;
  std::int64_t end = 0;
};

/// Device bytes of scratch of launch_global_norm_per_tensor (16-byte aligned, contents irrelevant).
std::int64_t global_norm_per_tensor_scratch_bytes(std::span<const GradientRange> tensors);

/// The same norm as a loop over tensors computes it: one launch per tensor, one element per access, then one that
/// adds what they left. Deterministic; the order of additions is not launch_global_norm's, so that the last
/// bit of the norm may differ from its. Throws std::invalid_argument for a range that is none.
void launch_global_norm_per_tensor(GradientNorm* out, const float* grads,
                                   std::span<const GradientRange> tensors, float max_norm, void* scratch,
                                   cudaStream_t stream);

/// sum g^2 of the ranges alone, in FP64 and in a fixed order: what ranks that keep parts of a gradient add up. out and
/// scratch are on the device, scratch as of launch_global_norm_per_tensor. Throws std::invalid_argument for a range
/// that is none.
void launch_squared_sum(double* out, const float* grads, std::span<const GradientRange> ranges, void* scratch,
                        cudaStream_t stream);
/// The norm of a gradient whose squares add up to *squared_sum, which is on the device.
void launch_norm_of_squares(GradientNorm* out, const double* squared_sum, float max_norm,
                            cudaStream_t stream);

}  // namespace ridgeline::gpt2
