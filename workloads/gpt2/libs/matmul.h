// matmul.h: the GEMMs of the trainer's linear layers, through cuBLASLt, with a measured choice of
// algorithm for every problem.
//
// All tensors are row-major and dense; parameter gradients are FP32. A linear layer has inp (N, C), weight
// (OC, C), bias (OC), out (N, OC):
//   forward          out     (N, OC) = inp (N, C) x weight (OC, C)^T + bias      [then GELU, or + residual]
//   backward_input   dinp    (N, C)  = dout (N, OC) x weight (OC, C)             [then x GELU'(pre)]
//   backward_weight  dweight (OC, C) = dout (N, OC)^T x inp (N, C)               [and column sums of dout]
//   flops 2*N*C*OC each; bytes: see matmul_*_bytes below (every operand touched once: the algorithmic
//   minimum)
// The same three with operands in FP8 (Hopper and later): out and dinp are bfloat16 or FP8 too, dweight FP32; sizes are
// multiples of 16.
//
// Lifecycle of a Matmul:
//   1. construct: reads the cache file, if one is named
//   2. the first call of each problem looks its algorithm up, in this order: the cache file (what a search
//      found; not with off), the search (into buffers of its own, so the
//      caller's data is never touched by a trial), cuBLASLt's first answer. Not during stream capture: a
//      problem that is first met there is a LibraryError. Run one step before capturing
//   3. later calls reuse the plan
//   4. save_cache, or the destructor, writes the cache file if anything was found
// A cache file that is missing, of another version, of another cuBLASLt or GPU, or damaged is ignored with
// one line on stderr (no line when it is missing).
#pragma once

#include <cuda_bf16.h>
#include <cuda_runtime_api.h>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

namespace ridgeline::gpt2 {

/// How the algorithm of a new problem is found.
///   off   cuBLASLt's first heuristic answer, unmeasured
///   full  every heuristic answer under several workspace limits, and other tiles, clusters, split-K and
///         rasterisation than the heuristics propose, timed; the finalists run alone, long enough for the power limit
///         to act. About 4 s a problem, so name a cache file
enum class MatmulSearch { off, full };

/// How GEMMs of float tensors are computed. bfloat16 tensors always use bfloat16 inputs and FP32 sums.
enum class Fp32Math { fp32, tf32 };

enum class MatmulEpilogue { none, gelu };

struct MatmulOptions {
  MatmulSearch search = MatmulSearch::off;
  Fp32Math fp32_math = Fp32Math::fp32;
  std::size_t workspace_bytes = std::size_t{64} << 20;
  std::string cache_path;  // empty: nothing is kept between runs
};

/// One problem and what was chosen for it, for the choice report.
struct MatmulChoice {
  std::string op;  // forward, backward_input, backward_weight
  /// none, residual, bias, bias+residual, gelu, bias+gelu, dgelu, bias_gradient; ", to fp8" after it where D is so
  std::string epilogue;
  std::string precision;  // bf16, fp32, tf32, fp8
  std::int64_t n = 0;     // rows: B*T
  std::int64_t c = 0;
  std::int64_t oc = 0;
  bool accumulate = false;
  std::string algorithm;  // id, tile, stages, cluster, split-K, swizzle, by cuBLASLt's own numbers
  std::string source;     // search, cache, heuristic
  int candidates = 0;     // algorithms timed
  double time_ns = 0.0;   // the choice, median; 0 when nothing was timed
  double default_time_ns =
      0.0;                   // cuBLASLt's first answer, timed in the same rounds; 0 when nothing was timed
  double flops_per_s = 0.0;  // 2*n*c*oc / time; 0 when nothing was timed
};

/// Work and traffic of one GEMM; T is the type of activations and parameters.
constexpr std::int64_t matmul_flops(std::int64_t n, std::int64_t c, std::int64_t oc) {
  return 2 * n * c * oc;
}

template <class T>
constexpr std::int64_t matmul_forward_bytes(std::int64_t n, std::int64_t c, std::int64_t oc, bool bias,
                                            bool gelu_aux, bool residual = false) {
  return static_cast<std::int64_t>(sizeof(T)) *
         (n * c + oc * c + n * oc * (1 + (gelu_aux ? 1 : 0) + (residual ? 1 : 0)) + (bias ? oc : 0));
}

template <class T>
constexpr std::int64_t matmul_backward_input_bytes(std::int64_t n, std::int64_t c, std::int64_t oc,
                                                   bool dgelu, bool accumulate) {
  return static_cast<std::int64_t>(sizeof(T)) *
         (n * oc + oc * c + n * c * (1 + (dgelu ? 1 : 0) + (accumulate ? 1 : 0)));
}

template <class T>
constexpr std::int64_t matmul_backward_weight_bytes(std::int64_t n, std::int64_t c, std::int64_t oc,
                                                    bool bias_gradient, bool accumulate) {
  return static_cast<std::int64_t>(sizeof(T)) * (n * oc + n * c) + static_cast<std::int64_t>(sizeof(float)) *
                                                                       (oc * c + (bias_gradient ? oc : 0)) *
                                                                       (accumulate ? 2 : 1);
}

/// Operands in FP8: one byte per element; so has a result in FP8, any other two, as the residual has.
constexpr std::int64_t matmul_fp8_forward_bytes(std::int64_t n, std::int64_t c, std::int64_t oc, bool bias,
                                                bool fp8_result = false, bool residual = false) {
  return n * c + oc * c + (fp8_result ? 1 : 2) * n * oc +
         std::int64_t{sizeof(__nv_bfloat16)} * ((bias ? oc : 0) + (residual ? n * oc : 0));
}
constexpr std::int64_t matmul_fp8_backward_input_bytes(std::int64_t n, std::int64_t c, std::int64_t oc,
                                                       bool fp8_result = false) {
  return n * oc + oc * c + (fp8_result ? 1 : 2) * n * c;
}
constexpr std::int64_t matmul_fp8_backward_weight_bytes(std::int64_t n, std::int64_t c, std::int64_t oc,
                                                        bool accumulate) {
  return n * oc + n * c + std::int64_t{sizeof(float)} * oc * c * (accumulate ? 2 : 1);
}

/// A tensor in FP8, both pointers to device memory and aligned to 16 bytes: a value is its byte times `*inverse`.
struct Fp8Operand {
  const std::uint8_t* data = nullptr;
  const float* inverse = nullptr;
};

/// Where a GEMM stores a result in FP8; all pointers to device memory and aligned to 16 bytes. A byte is its value
/// times `*scale`, rounded to nearest even and saturated to the largest finite value; NaN stays NaN. `*amax`
/// becomes the largest magnitude before scaling, of this GEMM alone.
struct Fp8Result {
  std::uint8_t* data = nullptr;
  const float* scale = nullptr;
  float* amax = nullptr;
};

/// Owns the cuBLASLt handle, one workspace and the plans. Calls of one object must be ordered on one stream
/// (they share the workspace); one thread at a time. T is float or __nv_bfloat16. Pointers are device memory,
/// aligned to 16 bytes at least. Every call throws LibraryError (what, shapes, what to do) when cuBLASLt has
/// no algorithm.
class Matmul {
 public:
  explicit Matmul(MatmulOptions options = {});
  ~Matmul();
  Matmul(const Matmul&) = delete;
  Matmul& operator=(const Matmul&) = delete;
  Matmul(Matmul&&) noexcept;
  Matmul& operator=(Matmul&&) noexcept;

  /// out (N, OC) = epilogue(inp (N, C) x weight (OC, C)^T + bias (OC)); bias may be null.
  /// With MatmulEpilogue::gelu (the tanh form), pre_gelu (N, OC) receives the argument of the GELU, for
  /// backward_input; null: not stored. A stored one needs OC to be a multiple of 8 (bf16) or 4 (float).
  template <class T>
  void forward(T* out, const T* inp, const T* weight, const T* bias, std::int64_t n, std::int64_t c,
               std::int64_t oc, cudaStream_t stream, MatmulEpilogue epilogue = MatmulEpilogue::none,
               T* pre_gelu = nullptr);

  /// out (N, OC) = residual (N, OC) + inp (N, C) x weight (OC, C)^T + bias (OC); bias may be null. out may be
  /// residual itself; otherwise they must not overlap. In bf16 the algorithm that is found may round GEMM and
  /// bias before it adds the residual, as a kernel after the GEMM would; if it does not, the sum is rounded
  /// once.
  template <class T>
  void forward_residual(T* out, const T* residual, const T* inp, const T* weight, const T* bias,
                        std::int64_t n, std::int64_t c, std::int64_t oc, cudaStream_t stream);

  /// dinp (N, C) = dout (N, OC) x weight (OC, C). With pre_gelu (N, C), what the producing layer's forward
  /// stored, each element is multiplied by GELU'(pre_gelu): dinp is then the gradient with respect to pre_gelu
  /// (C a multiple of 8 for bf16, 4 for float). accumulate adds to what dinp holds (in bf16 the GEMM may be
  /// rounded before it is added); not together with pre_gelu.
  template <class T>
  void backward_input(T* dinp, const T* dout, const T* weight, std::int64_t n, std::int64_t c,
                      std::int64_t oc, cudaStream_t stream, const T* pre_gelu = nullptr,
                      bool accumulate = false);

  /// dweight (OC, C) FP32 = or += dout (N, OC)^T x inp (N, C). With dbias (OC) FP32, dbias = or += the column
  /// sums of dout, computed by the same GEMM; ask bias_gradient_fused first.
  template <class T>
  void backward_weight(float* dweight, const T* dout, const T* inp, std::int64_t n, std::int64_t c,
                       std::int64_t oc, cudaStream_t stream, bool accumulate, float* dbias = nullptr);

  /// The GEMMs with FP8 operands. Inputs and weights are E4M3, gradients E5M2; what is transposed lies so in memory.
  /// fast: partial sums stay in the tensor cores, where they have some 14 bits.
  /// out (N, OC) = inp (N, C) x weight (OC, C)^T + bias (OC); bias may be null.
  void forward_fp8(__nv_bfloat16* out, const Fp8Operand& inp, const Fp8Operand& weight,
                   const __nv_bfloat16* bias, std::int64_t n, std::int64_t c, std::int64_t oc, bool fast,
                   cudaStream_t stream);
  /// out (N, OC) = residual (N, OC) + that, as forward_residual.
  void forward_residual_fp8(__nv_bfloat16* out, const __nv_bfloat16* residual, const Fp8Operand& inp,
                            const Fp8Operand& weight, const __nv_bfloat16* bias, std::int64_t n,
                            std::int64_t c, std::int64_t oc, bool fast, cudaStream_t stream);
  /// forward_fp8, stored in E4M3.
  void forward_fp8(const Fp8Result& out, const Fp8Operand& inp, const Fp8Operand& weight,
                   const __nv_bfloat16* bias, std::int64_t n, std::int64_t c, std::int64_t oc, bool fast,
                   cudaStream_t stream);
  /// dinp (N, C) = dout (N, OC) x weight, of which weight_transposed is (C, OC).
  void backward_input_fp8(__nv_bfloat16* dinp, const Fp8Operand& dout, const Fp8Operand& weight_transposed,
                          std::int64_t n, std::int64_t c, std::int64_t oc, bool fast, cudaStream_t stream);
  /// The same, stored in E5M2.
  void backward_input_fp8(const Fp8Result& dinp, const Fp8Operand& dout, const Fp8Operand& weight_transposed,
                          std::int64_t n, std::int64_t c, std::int64_t oc, bool fast, cudaStream_t stream);
  /// dweight (OC, C) FP32 = or += dout^T (OC, N) x inp, of which inp_transposed is (C, N).
  void backward_weight_fp8(float* dweight, const Fp8Operand& dout_transposed,
                           const Fp8Operand& inp_transposed, std::int64_t n, std::int64_t c, std::int64_t oc,
                           bool fast, cudaStream_t stream, bool accumulate);

  /// Whether backward_weight can produce dbias for this problem (cuBLASLt offers an algorithm). No: use the
  /// bias gradient kernel.
  template <class T>
  bool bias_gradient_fused(std::int64_t n, std::int64_t c, std::int64_t oc, bool accumulate);

  /// One entry a problem met so far, in the order of first use.
  std::vector<MatmulChoice> choices() const;

  /// Writes the cache file now (atomically: a new file renamed over the old). No cache_path: does nothing.
  void save_cache();

  std::size_t workspace_bytes() const;

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace ridgeline::gpt2
