// device_fill.h: contents for trial buffers, and a comparison of two results.
#pragma once

#include <cuda_runtime_api.h>

#include <cstdint>

#include "gpt2/ops/fp8/fp8.h"

namespace ridgeline::gpt2 {

/// data[i] = scale * a nearly normal value (mean 0, deviation 1) that depends on seed and i alone. Random
/// contents, not zeros: the power a GEMM draws, and with it the clock, depends on the bits that
/// toggle. bytes n*sizeof(T) written. T is float or bf16; n >= 0, any n.
template <class T>
void launch_fill_normal(T* data, std::int64_t n, float scale, std::uint64_t seed, cudaStream_t stream);

/// The same in FP8, in whole bytes; deviation 16, so that a share of the values is small enough to lose bits.
void launch_fill_normal_fp8(std::uint8_t* data, std::int64_t n, Fp8Format format, std::uint64_t seed,
                            cudaStream_t stream);

/// y[i] += x[i], i < n.  bytes 3*4*n, flops n
void launch_add(float* y, const float* x, std::int64_t n, cudaStream_t stream);

/// result[0] = max |a[i]|, result[1] = max |a[i] - b[i]|; a value that is not finite on one side only counts
/// as infinite difference. result: 2 floats on the device, zeroed by the caller. bytes 2*n*sizeof(T)
template <class T>
void launch_compare(float* result, const T* a, const T* b, std::int64_t n, cudaStream_t stream);
/// The same of FP8, as values of the bytes. bytes 2*n
void launch_compare_fp8(float* result, const std::uint8_t* a, const std::uint8_t* b, std::int64_t n,
                        Fp8Format format, cudaStream_t stream);

}  // namespace ridgeline::gpt2
