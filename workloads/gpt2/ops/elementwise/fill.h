// fill.h: set device memory to one value.
#pragma once

#include <cuda_runtime_api.h>

#include <cstdint>

#include "gpt2/common/dtype.h"

namespace ridgeline::gpt2 {

template <typename T>
constexpr std::int64_t fill_bytes(std::int64_t n) {
  return n * std::int64_t{sizeof(T)};
}

/// Zero bytes: a memset under an NVTX range.
void launch_zero(void* data, std::int64_t bytes, cudaStream_t stream);
/// T is float or bf16; any alignment.
template <typename T>
void launch_fill(T* data, float value, std::int64_t n, cudaStream_t stream);
/// Rounds FP32 to T (e.g. the working copy of master weights). T is float or bf16.
template <typename T>
void launch_convert(T* out, const float* inp, std::int64_t n, cudaStream_t stream);
/// The way back, which loses nothing.
void launch_widen(float* out, const bf16* inp, std::int64_t n, cudaStream_t stream);
/// sum[i] += more[i]
void launch_accumulate(float* sum, const float* more, std::int64_t n, cudaStream_t stream);

}  // namespace ridgeline::gpt2
