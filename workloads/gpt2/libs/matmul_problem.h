// matmul_problem.h: one GEMM as cuBLASLt sees it. cuBLASLt counts in columns, so a row-major (R, S)
// tensor is its (S, R) matrix with leading dimension S; D (m, n) = op(A) (m, k) x op(B) (k, n):
//   forward          A = weight^T, B = inp,    D = out      m = OC, n = N,  k = C
//   backward_input   A = weight,   B = dout,   D = dinp     m = C,  n = N,  k = OC
//   backward_weight  A = inp,      B = dout^T, D = dweight  m = C,  n = OC, k = N
// FP8 is multiplied only along the rows of both: A is (k, m) transposed, B is (k, n). What is not so already has been
// transposed in memory: weight^T and, for the weight's gradient, inp^T and dout^T.
#pragma once

#include <cublasLt.h>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>

#include "gpt2/ops/fp8/fp8.h"

namespace ridgeline::gpt2 {

enum class MatmulOp { forward, backward_input, backward_weight };
/// fp8: weights and inputs in E4M3, gradients in E5M2; out and dinp in bfloat16, or with a result in FP8 as those.
enum class MatmulPrecision { bfloat16, float32, tf32, fp8 };
/// What happens to D on its way to memory. aux: the GELU's argument, stored or read.
enum class LtEpilogue { none, bias, gelu, bias_gelu, gelu_aux, bias_gelu_aux, dgelu, bias_gradient };

const char* name_of(MatmulOp op);
const char* name_of(MatmulPrecision precision);
const char* name_of(LtEpilogue epilogue);

struct MatmulProblem {
  MatmulOp op = MatmulOp::forward;
  MatmulPrecision precision = MatmulPrecision::bfloat16;
  LtEpilogue epilogue = LtEpilogue::none;
  bool accumulate = false;         // D = D + GEMM
  bool residual = false;           // D = C + GEMM; C is a tensor of D's shape and type beside it
  bool fast_accumulation = false;  // of fp8: partial sums stay in the tensor cores' narrower registers
  bool fp8_result = false;         // of fp8: out is stored in E4M3, dinp in E5M2
  std::int64_t rows = 0;           // N
  std::int64_t channels = 0;       // C
  std::int64_t out_channels = 0;   // OC
  std::uint32_t a_alignment_bytes = 256;
  std::uint32_t b_alignment_bytes = 256;
  std::uint32_t d_alignment_bytes = 256;  // and C's: the lesser of the two
  std::uint64_t workspace_bytes = 0;

  bool operator==(const MatmulProblem&) const = default;

  std::int64_t m() const { return op == MatmulOp::forward ? out_channels : channels; }
  std::int64_t n() const { return op == MatmulOp::backward_weight ? out_channels : rows; }
  std::int64_t k() const;
  std::size_t input_element_bytes() const {
    return precision == MatmulPrecision::fp8 ? 1 : precision == MatmulPrecision::bfloat16 ? 2 : 4;
  }
  std::size_t output_element_bytes() const {
    if (fp8_result) return 1;
    return epilogue_element_bytes();
  }
  /// Of the bias, which FP8 results have in bfloat16.
  std::size_t epilogue_element_bytes() const {
    if (op == MatmulOp::backward_weight) return 4;
    return precision == MatmulPrecision::fp8 ? 2 : input_element_bytes();
  }
  /// Of B, and of a result in FP8.
  Fp8Format fp8_format() const { return op == MatmulOp::forward ? Fp8Format::e4m3 : Fp8Format::e5m2; }
  bool has_bias() const;
  bool has_aux() const;
  /// Every field, as text: the name of the problem in the cache file.
  std::string key() const;
  /// For people: op, shapes, epilogue, precision.
  std::string description() const;
};

/// Cheap: it is computed at every call of a GEMM.
struct MatmulProblemHash {
  std::size_t operator()(const MatmulProblem& problem) const noexcept {
    std::uint64_t hash = 0;
    for (const std::uint64_t part :
         {static_cast<std::uint64_t>(problem.op), static_cast<std::uint64_t>(problem.precision),
          static_cast<std::uint64_t>(problem.epilogue),
          static_cast<std::uint64_t>(problem.accumulate) +
              2 * static_cast<std::uint64_t>(problem.fast_accumulation) +
              4 * static_cast<std::uint64_t>(problem.fp8_result) +
              8 * static_cast<std::uint64_t>(problem.residual),
          static_cast<std::uint64_t>(problem.rows), static_cast<std::uint64_t>(problem.channels),
          static_cast<std::uint64_t>(problem.out_channels),
          static_cast<std::uint64_t>(problem.a_alignment_bytes + 2 * problem.b_alignment_bytes +
                                     4 * problem.d_alignment_bytes)}) {
      hash = (hash ^ part) * 0x9E3779B97F4A7C15ULL;
      hash ^= hash >> 29;
    }
    return static_cast<std::size_t>(hash);
  }
};

/// Throws LibraryError unless status is success.
void cublas_check(cublasStatus_t status, const std::string& call, const char* file, int line);

/// cuBLASLt's descriptors of a problem.
class LtOperation {
 public:
  explicit LtOperation(const MatmulProblem& problem);

  /// Pointers of the epilogue: bias or its gradient; the GELU's argument.
  void set_bias(const void* bias);
  void set_aux(const void* aux);
  /// Of FP8: what A and B are multiplied by, in device memory.
  void set_scales(const float* a, const float* b);
  /// Of a result in FP8: what D is multiplied by before it is rounded, and where its largest magnitude before
  /// that goes.
  void set_result(const float* scale, float* amax);

  /// addend: C, which is added to the GEMM; d for what D holds, null for nothing.
  [[nodiscard]] cublasStatus_t run(cublasLtHandle_t handle, const cublasLtMatmulAlgo_t& algo, const void* a,
                                   const void* b, const void* addend, void* d, void* workspace,
                                   std::size_t workspace_bytes, cudaStream_t stream) const;
  /// Bytes of workspace that algo needs here; an unsupported algo gives its status.
  [[nodiscard]] cublasStatus_t check(cublasLtHandle_t handle, const cublasLtMatmulAlgo_t& algo,
                                     std::size_t* workspace_bytes) const;

  cublasLtMatmulDesc_t operation() const { return operation_.get(); }
  cublasLtMatrixLayout_t a() const { return a_.get(); }
  cublasLtMatrixLayout_t b() const { return b_.get(); }
  /// As D, except that a result in FP8 has a bfloat16 C, which nothing is read of.
  cublasLtMatrixLayout_t c() const { return c_ ? c_.get() : d_.get(); }
  cublasLtMatrixLayout_t d() const { return d_.get(); }
  cublasComputeType_t compute_type() const { return compute_type_; }
  cudaDataType_t output_type() const { return output_type_; }

 private:
  struct OperationDeleter {
    using pointer = cublasLtMatmulDesc_t;
    void operator()(cublasLtMatmulDesc_t desc) const noexcept { cublasLtMatmulDescDestroy(desc); }
  };
  struct LayoutDeleter {
    using pointer = cublasLtMatrixLayout_t;
    void operator()(cublasLtMatrixLayout_t layout) const noexcept { cublasLtMatrixLayoutDestroy(layout); }
  };
  using Layout = std::unique_ptr<cublasLtMatrixLayout_t, LayoutDeleter>;
  static Layout make_layout(cudaDataType_t type, std::int64_t rows, std::int64_t columns);

  cublasComputeType_t compute_type_ = CUBLAS_COMPUTE_32F;
  cudaDataType_t output_type_ = CUDA_R_16BF;
  std::unique_ptr<cublasLtMatmulDesc_t, OperationDeleter> operation_;
  Layout a_;
  Layout b_;
  Layout c_;  // null: as d_
  Layout d_;
};

}  // namespace ridgeline::gpt2

#define RIDGELINE_CUBLAS_CHECK(call) ::ridgeline::gpt2::cublas_check((call), #call, __FILE__, __LINE__)
