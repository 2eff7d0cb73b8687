// bias_gradient.h: the gradient of a bias is the column sum of dout.
#pragma once

#include <cuda_runtime_api.h>

#include <cstdint>

#include "gpt2/common/switches.h"

namespace ridgeline::gpt2 {

class PartialSums;

/// dbias[c] += sum over n of dout[n,c].  dout (N,OC), dbias (OC). Real is float or double.
template <typename Real>
void bias_gradient_cpu(Real* dbias, const Real* dout, std::int64_t rows, int channels);

template <typename T>
constexpr std::int64_t bias_gradient_bytes(std::int64_t rows, std::int64_t channels) {
  return rows * channels * std::int64_t{sizeof(T)} + 2 * channels * std::int64_t{sizeof(float)};
}
constexpr std::int64_t bias_gradient_flops(std::int64_t rows, std::int64_t channels) {
  return rows * channels;
}

/// Device bytes of scratch for up to `channels` columns (16-byte aligned, contents irrelevant).
std::int64_t bias_gradient_scratch_bytes(int channels);

/// FP32 dbias accumulates; partial sums are added in a fixed order: deterministic for a given device. With
/// PartialSums the sums wait there, and dout may be columns of a wider tensor, `pitch` elements from a row to the next;
/// with scratch they are complete.
template <typename T>
void launch_bias_gradient(float* dbias, const T* dout, std::int64_t rows, int channels, std::int64_t pitch,
                          PartialSums& sums, cudaStream_t stream, KernelWidth width = KernelWidth::packed);
template <typename T>
void launch_bias_gradient(float* dbias, const T* dout, std::int64_t rows, int channels, void* scratch,
                          cudaStream_t stream, KernelWidth width = KernelWidth::packed);

}  // namespace ridgeline::gpt2
