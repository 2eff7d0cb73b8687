#include "gpt2/libs/cublas_handle.h"

#include "gpt2/libs/matmul_problem.h"

namespace ridgeline::gpt2 {

CublasHandle::CublasHandle() : workspace_(static_cast<std::int64_t>(kWorkspaceBytes)) {
  cublasHandle_t raw = nullptr;
  RIDGELINE_CUBLAS_CHECK(cublasCreate(&raw));
  handle_.reset(raw);
  // Sums of bf16 GEMMs stay FP32 when cuBLAS splits them, as they do through cuBLASLt.
  RIDGELINE_CUBLAS_CHECK(cublasSetMathMode(raw, CUBLAS_MATH_DISALLOW_REDUCED_PRECISION_REDUCTION));
}

cublasHandle_t CublasHandle::on(cudaStream_t stream) {
  if (bound_ && stream == stream_) return handle_.get();
  RIDGELINE_CUBLAS_CHECK(cublasSetStream(handle_.get(), stream));
  // In this order: setting the stream returns cuBLAS to a workspace of its own.
  RIDGELINE_CUBLAS_CHECK(cublasSetWorkspace(handle_.get(), workspace_.data(), kWorkspaceBytes));
  stream_ = stream;
  bound_ = true;
  return handle_.get();
}

}  // namespace ridgeline::gpt2
