// cublas_types.h: cuBLAS's names for the trainer's element types and precisions.
#pragma once

#include <cublas_v2.h>

#include "gpt2/common/dtype.h"
#include "gpt2/libs/matmul.h"

namespace ridgeline::gpt2 {

template <class T>
constexpr cudaDataType_t cublas_type() {
  return std::is_same_v<T, bf16> ? CUDA_R_16BF : CUDA_R_32F;
}

/// Sums are FP32 always; TF32 rounds the operands of float tensors.
template <class T>
constexpr cublasComputeType_t cublas_compute_type(Fp32Math math) {
  return std::is_same_v<T, float> && math == Fp32Math::tf32 ? CUBLAS_COMPUTE_32F_FAST_TF32
                                                            : CUBLAS_COMPUTE_32F;
}

}  // namespace ridgeline::gpt2
