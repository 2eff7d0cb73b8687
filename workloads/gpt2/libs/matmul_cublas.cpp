#include "gpt2/libs/matmul_cublas.h"

#include <stdexcept>

#include "gpt2/common/dtype.h"
#include "gpt2/common/nvtx.h"
#include "gpt2/libs/cublas_types.h"
#include "gpt2/libs/library_error.h"
#include "gpt2/libs/matmul_problem.h"

namespace ridgeline::gpt2 {
namespace {

// A, B and D as cuBLAS counts them: matmul_problem.h says how the row-major tensors map to columns.
template <class T>
void run(cublasHandle_t handle, MatmulOp op, Fp32Math math, const void* a, const void* b, void* d,
         std::int64_t n, std::int64_t c, std::int64_t oc, bool accumulate) {
  MatmulProblem problem;
  problem.op = op;
  problem.precision = std::is_same_v<T, bf16>  ? MatmulPrecision::bfloat16
                      : math == Fp32Math::tf32 ? MatmulPrecision::tf32
                                               : MatmulPrecision::float32;
  problem.accumulate = accumulate;
  problem.rows = n;
  problem.channels = c;
  problem.out_channels = oc;
  if (n <= 0 || c <= 0 || oc <= 0) {
    throw std::invalid_argument(problem.description() + ": sizes must be at least 1");
  }
  const cublasOperation_t transpose_a = op == MatmulOp::forward ? CUBLAS_OP_T : CUBLAS_OP_N;
  const cublasOperation_t transpose_b = op == MatmulOp::backward_weight ? CUBLAS_OP_T : CUBLAS_OP_N;
  const std::int64_t b_leading = op == MatmulOp::forward ? c : oc;
  const cudaDataType_t output_type = op == MatmulOp::backward_weight ? CUDA_R_32F : cublas_type<T>();
  const float alpha = 1.0F;
  const float beta = accumulate ? 1.0F : 0.0F;
  const cublasStatus_t status =
      cublasGemmEx_64(handle, transpose_a, transpose_b, problem.m(), problem.n(), problem.k(), &alpha, a,
                      cublas_type<T>(), c, b, cublas_type<T>(), b_leading, &beta, d, output_type, problem.m(),
                      cublas_compute_type<T>(math), CUBLAS_GEMM_DEFAULT);
  if (status != CUBLAS_STATUS_SUCCESS) {
    throw LibraryError("cublasGemmEx, " + problem.description(), cublasGetStatusString(status), __FILE__,
                       __LINE__);
  }
}

}  // namespace

template <class T>
void CublasGemms<T>::forward(T* out, const T* inp, const T* weight, std::int64_t n, std::int64_t c,
                             std::int64_t oc, cudaStream_t stream) {
  const NvtxRange range("matmul_forward",
                        {matmul_forward_bytes<T>(n, c, oc, false, false), matmul_flops(n, c, oc), n, oc, c});
  run<T>(handle_.on(stream), MatmulOp::forward, math_, weight, inp, out, n, c, oc, false);
}

template <class T>
void CublasGemms<T>::backward_input(T* dinp, const T* dout, const T* weight, std::int64_t n, std::int64_t c,
                                    std::int64_t oc, cudaStream_t stream) {
  const NvtxRange range("matmul_backward_input", {matmul_backward_input_bytes<T>(n, c, oc, false, false),
                                                  matmul_flops(n, c, oc), n, c, oc});
  run<T>(handle_.on(stream), MatmulOp::backward_input, math_, weight, dout, dinp, n, c, oc, false);
}

template <class T>
void CublasGemms<T>::backward_weight(float* dweight, const T* dout, const T* inp, std::int64_t n,
                                     std::int64_t c, std::int64_t oc, cudaStream_t stream, bool accumulate) {
  const NvtxRange range(
      "matmul_backward_weight",
      {matmul_backward_weight_bytes<T>(n, c, oc, false, accumulate), matmul_flops(n, c, oc), oc, c, n});
  run<T>(handle_.on(stream), MatmulOp::backward_weight, math_, inp, dout, dweight, n, c, oc, accumulate);
}

template class CublasGemms<float>;
template class CublasGemms<bf16>;

}  // namespace ridgeline::gpt2
