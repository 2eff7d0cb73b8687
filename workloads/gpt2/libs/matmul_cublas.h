// matmul_cublas.h: the GEMMs of a linear layer through plain cuBLAS: one cublasGemmEx each, the library's
// own choice of algorithm, nothing fused. What a trainer does before it knows of cuBLASLt.
//
// shapes, bytes, flops: as in matmul.h, without bias and GELU
// bound   compute
#pragma once

#include "gpt2/libs/cublas_handle.h"
#include "gpt2/libs/linear_gemms.h"

namespace ridgeline::gpt2 {

/// Throws LibraryError when cuBLAS refuses, std::invalid_argument for a size below 1. May be captured once a
/// step has run: cuBLAS loads its kernels at their first use.
template <class T>
class CublasGemms final : public LinearGemms<T> {
 public:
  /// `handle` must outlive this. math: of float tensors; bf16 tensors are summed in FP32.
  CublasGemms(CublasHandle& handle, Fp32Math math) : handle_(handle), math_(math) {}

  void forward(T* out, const T* inp, const T* weight, std::int64_t n, std::int64_t c, std::int64_t oc,
               cudaStream_t stream) override;
  void backward_input(T* dinp, const T* dout, const T* weight, std::int64_t n, std::int64_t c,
                      std::int64_t oc, cudaStream_t stream) override;
  void backward_weight(float* dweight, const T* dout, const T* inp, std::int64_t n, std::int64_t c,
                       std::int64_t oc, cudaStream_t stream, bool accumulate) override;

 private:
  CublasHandle& handle_;
  Fp32Math math_;
};

}  // namespace ridgeline::gpt2
