#include "gpt2/libs/matmul_problem.h"

#include <sstream>

#include "gpt2/libs/library_error.h"

namespace ridgeline::gpt2 {

const char* name_of(MatmulOp op) {
  switch (op) {
    case MatmulOp::forward:
      return "forward";
    case MatmulOp::backward_input:
      return "backward_input";
    case MatmulOp::backward_weight:
      return "backward_weight";
  }
  return "?";
}

const char* name_of(MatmulPrecision precision) {
  switch (precision) {
    case MatmulPrecision::bfloat16:
      return "bf16";
    case MatmulPrecision::float32:
      return "fp32";
    case MatmulPrecision::tf32:
      return "tf32";
    case MatmulPrecision::fp8:
      return "fp8";
  }
  return "?";
}

const char* name_of(LtEpilogue epilogue) {
  switch (epilogue) {
    case LtEpilogue::none:
      return "none";
    case LtEpilogue::bias:
      return "bias";
    case LtEpilogue::gelu:
      return "gelu";
    case LtEpilogue::bias_gelu:
      return "bias+gelu";
    case LtEpilogue::gelu_aux:
      return "gelu+aux";
    case LtEpilogue::bias_gelu_aux:
      return "bias+gelu+aux";
    case LtEpilogue::dgelu:
      return "dgelu";
    case LtEpilogue::bias_gradient:
      return "bias_gradient";
  }
  return "?";
}

std::int64_t MatmulProblem::k() const {
  switch (op) {
    case MatmulOp::forward:
      return channels;
    case MatmulOp::backward_input:
      return out_channels;
    case MatmulOp::backward_weight:
      return rows;
  }
  return 0;
}

bool MatmulProblem::has_bias() const {
  return epilogue == LtEpilogue::bias || epilogue == LtEpilogue::bias_gelu ||
         epilogue == LtEpilogue::bias_gelu_aux || epilogue == LtEpilogue::bias_gradient;
}

bool MatmulProblem::has_aux() const {
  return epilogue == LtEpilogue::gelu_aux || epilogue == LtEpilogue::bias_gelu_aux ||
         epilogue == LtEpilogue::dgelu;
}

std::string MatmulProblem::key() const {
  std::ostringstream text;
  text << name_of(op) << " n=" << rows << " c=" << channels << " oc=" << out_channels << ' '
       << name_of(precision) << (fast_accumulation ? "-fast" : "") << (fp8_result ? "-to-fp8" : "") << ' '
       << name_of(epilogue) << (residual ? "+residual" : "") << (accumulate ? " add" : " set")
       << " align=" << a_alignment_bytes << ',' << b_alignment_bytes << ',' << d_alignment_bytes
       << " workspace=" << workspace_bytes;
  return text.str();
}

std::string MatmulProblem::description() const {
  std::ostringstream text;
  text << "matmul " << name_of(op) << " (N " << rows << ", C " << channels << ", OC " << out_channels << ", "
       << name_of(precision) << (fast_accumulation ? " with fast accumulation" : "")
       << (fp8_result ? " to fp8" : "") << ", epilogue " << name_of(epilogue) << (residual ? "+residual" : "")
       << (accumulate ? ", accumulated" : "") << ')';
  return text.str();
}

void cublas_check(cublasStatus_t status, const std::string& call, const char* file, int line) {
  if (status == CUBLAS_STATUS_SUCCESS) return;
  throw LibraryError(call, cublasLtGetStatusString(status), file, line);
}

LtOperation::Layout LtOperation::make_layout(cudaDataType_t type, std::int64_t rows, std::int64_t columns) {
  cublasLtMatrixLayout_t layout = nullptr;
  RIDGELINE_CUBLAS_CHECK(cublasLtMatrixLayoutCreate(&layout, type, static_cast<std::uint64_t>(rows),
                                                    static_cast<std::uint64_t>(columns), rows));
  return Layout(layout);
}

LtOperation::LtOperation(const MatmulProblem& problem) {
  const bool fp8 = problem.precision == MatmulPrecision::fp8;
  const bool forward = problem.op == MatmulOp::forward;
  // A is a weight or an input, B an input or a gradient.
  const cudaDataType_t wide =
      problem.precision == MatmulPrecision::bfloat16 || fp8 ? CUDA_R_16BF : CUDA_R_32F;
  const cudaDataType_t narrow = problem.fp8_format() == Fp8Format::e4m3 ? CUDA_R_8F_E4M3 : CUDA_R_8F_E5M2;
  const cudaDataType_t a_type = fp8 ? CUDA_R_8F_E4M3 : wide;
  const cudaDataType_t b_type = fp8 ? narrow : wide;
  const cudaDataType_t unrounded_type = problem.op == MatmulOp::backward_weight ? CUDA_R_32F : wide;
  output_type_ = problem.fp8_result ? narrow : unrounded_type;
  compute_type_ =
      problem.precision == MatmulPrecision::tf32 ? CUBLAS_COMPUTE_32F_FAST_TF32 : CUBLAS_COMPUTE_32F;

  cublasLtMatmulDesc_t operation = nullptr;
  RIDGELINE_CUBLAS_CHECK(cublasLtMatmulDescCreate(&operation, compute_type_, CUDA_R_32F));
  operation_.reset(operation);
  const auto set = [&](cublasLtMatmulDescAttributes_t attribute, const auto& value) {
    RIDGELINE_CUBLAS_CHECK(cublasLtMatmulDescSetAttribute(operation, attribute, &value, sizeof(value)));
  };
  const cublasOperation_t transpose_a = forward || fp8 ? CUBLAS_OP_T : CUBLAS_OP_N;
  const cublasOperation_t transpose_b =
      problem.op == MatmulOp::backward_weight && !fp8 ? CUBLAS_OP_T : CUBLAS_OP_N;
  set(CUBLASLT_MATMUL_DESC_TRANSA, transpose_a);
  set(CUBLASLT_MATMUL_DESC_TRANSB, transpose_b);
  if (fp8) {
    const std::int8_t fast = problem.fast_accumulation ? 1 : 0;
    set(CUBLASLT_MATMUL_DESC_FAST_ACCUM, fast);
  }

  cublasLtEpilogue_t epilogue = CUBLASLT_EPILOGUE_DEFAULT;
  switch (problem.epilogue) {
    case LtEpilogue::none:
      break;
    case LtEpilogue::bias:
      epilogue = CUBLASLT_EPILOGUE_BIAS;
      break;
    case LtEpilogue::gelu:
      epilogue = CUBLASLT_EPILOGUE_GELU;
      break;
    case LtEpilogue::bias_gelu:
      epilogue = CUBLASLT_EPILOGUE_GELU_BIAS;
      break;
    case LtEpilogue::gelu_aux:
      epilogue = CUBLASLT_EPILOGUE_GELU_AUX;
      break;
    case LtEpilogue::bias_gelu_aux:
      epilogue = CUBLASLT_EPILOGUE_GELU_AUX_BIAS;
      break;
    case LtEpilogue::dgelu:
      epilogue = CUBLASLT_EPILOGUE_DGELU;
      break;
    case LtEpilogue::bias_gradient:
      // The bias belongs to B's rows here: dout is B, transposed.
      epilogue = CUBLASLT_EPILOGUE_BGRADB;
      break;
  }
  set(CUBLASLT_MATMUL_DESC_EPILOGUE, epilogue);
  if (problem.has_bias()) set(CUBLASLT_MATMUL_DESC_BIAS_DATA_TYPE, unrounded_type);
  if (problem.has_aux()) {
    set(CUBLASLT_MATMUL_DESC_EPILOGUE_AUX_DATA_TYPE, wide);
    const std::int64_t aux_ld = problem.m();
    set(CUBLASLT_MATMUL_DESC_EPILOGUE_AUX_LD, aux_ld);
  }

  const std::int64_t m = problem.m();
  const std::int64_t n = problem.n();
  const std::int64_t k = problem.k();
  a_ = transpose_a == CUBLAS_OP_T ? make_layout(a_type, k, m) : make_layout(a_type, m, k);
  b_ = transpose_b == CUBLAS_OP_T ? make_layout(b_type, n, k) : make_layout(b_type, k, n);
  d_ = make_layout(output_type_, m, n);
  // The only C that cuBLASLt takes beside a D in FP8 has 16 bits, the bias's type.
  if (problem.fp8_result) c_ = make_layout(unrounded_type, m, n);
}

void LtOperation::set_bias(const void* bias) {
  RIDGELINE_CUBLAS_CHECK(cublasLtMatmulDescSetAttribute(operation_.get(), CUBLASLT_MATMUL_DESC_BIAS_POINTER,
                                                        &bias, sizeof(bias)));
}

void LtOperation::set_aux(const void* aux) {
  RIDGELINE_CUBLAS_CHECK(cublasLtMatmulDescSetAttribute(
      operation_.get(), CUBLASLT_MATMUL_DESC_EPILOGUE_AUX_POINTER, &aux, sizeof(aux)));
}

void LtOperation::set_scales(const float* a, const float* b) {
  RIDGELINE_CUBLAS_CHECK(
      cublasLtMatmulDescSetAttribute(operation_.get(), CUBLASLT_MATMUL_DESC_A_SCALE_POINTER, &a, sizeof(a)));
  RIDGELINE_CUBLAS_CHECK(
      cublasLtMatmulDescSetAttribute(operation_.get(), CUBLASLT_MATMUL_DESC_B_SCALE_POINTER, &b, sizeof(b)));
}

void LtOperation::set_result(const float* scale, float* amax) {
  RIDGELINE_CUBLAS_CHECK(cublasLtMatmulDescSetAttribute(
      operation_.get(), CUBLASLT_MATMUL_DESC_D_SCALE_POINTER, &scale, sizeof(scale)));
  RIDGELINE_CUBLAS_CHECK(cublasLtMatmulDescSetAttribute(operation_.get(), CUBLASLT_MATMUL_DESC_AMAX_D_POINTER,
                                                        &amax, sizeof(amax)));
}

cublasStatus_t LtOperation::run(cublasLtHandle_t handle, const cublasLtMatmulAlgo_t& algo, const void* a,
                                const void* b, const void* addend, void* d, void* workspace,
                                std::size_t workspace_bytes, cudaStream_t stream) const {
  const float alpha = 1.0F;
  const float beta = addend != nullptr ? 1.0F : 0.0F;
  const void* unread = c_ ? nullptr : d;  // of another type than D it cannot lie in the same place
  const void* c = addend != nullptr ? addend : unread;
  return cublasLtMatmul(handle, operation_.get(), &alpha, a, a_.get(), b, b_.get(), &beta, c, this->c(), d,
                        d_.get(), &algo, workspace, workspace_bytes, stream);
}

cublasStatus_t LtOperation::check(cublasLtHandle_t handle, const cublasLtMatmulAlgo_t& algo,
                                  std::size_t* workspace_bytes) const {
  cublasLtMatmulHeuristicResult_t result{};
  const cublasStatus_t status =
      cublasLtMatmulAlgoCheck(handle, operation_.get(), a_.get(), b_.get(), c(), d_.get(), &algo, &result);
  *workspace_bytes = result.workspaceSize;
  return status;
}

}  // namespace ridgeline::gpt2
