#include "gpt2/libs/matmul.h"

#include <algorithm>
#include <cstdio>
#include <map>
#include <optional>
#include <stdexcept>
#include <unordered_map>

#include "gpt2/common/cuda_raii.h"
#include "gpt2/common/dtype.h"
#include "gpt2/common/nvtx.h"
#include "gpt2/libs/device_fill.h"
#include "gpt2/libs/library_error.h"
#include "gpt2/libs/matmul_cache.h"
#include "gpt2/libs/matmul_problem.h"
#include "gpt2/libs/matmul_search.h"

namespace ridgeline::gpt2 {
namespace {

struct LightHandleDeleter {
  using pointer = cublasLtHandle_t;
  void operator()(cublasLtHandle_t handle) const noexcept { cublasLtDestroy(handle); }
};

struct Plan {
  explicit Plan(const MatmulProblem& problem) : operation(problem) {}
  LtOperation operation;
  MatmulSelection selection;
  const char* source = "heuristic";
  DeviceBuffer<float> bias_gradient;  // accumulated bias gradients pass through here
};

std::uint32_t alignment_class(const void* pointer, const MatmulProblem& problem) {
  const auto address = reinterpret_cast<std::uintptr_t>(pointer);
  if (address % 16 != 0) {
    throw LibraryError(problem.description(), "a tensor is not aligned to 16 bytes", __FILE__, __LINE__);
  }
  // Two classes only: each one is searched by itself.
  return address % 256 == 0 ? 256 : 16;
}

bool capturing(cudaStream_t stream) {
  cudaStreamCaptureStatus status = cudaStreamCaptureStatusNone;
  RIDGELINE_CUDA_CHECK(cudaStreamIsCapturing(stream, &status));
  return status != cudaStreamCaptureStatusNone;
}

}  // namespace

struct Matmul::Impl {
  explicit Impl(MatmulOptions given) : options(std::move(given)) {
    cublasLtHandle_t raw = nullptr;
    RIDGELINE_CUBLAS_CHECK(cublasLtCreate(&raw));
    handle.reset(raw);
    workspace = DeviceBuffer<unsigned char>(static_cast<std::int64_t>(options.workspace_bytes));
    if (options.cache_path.empty()) return;
    int device = 0;
    RIDGELINE_CUDA_CHECK(cudaGetDevice(&device));
    cudaDeviceProp properties{};
    RIDGELINE_CUDA_CHECK(cudaGetDeviceProperties(&properties, device));
    identity = {cublasLtGetVersion(), properties.name};
    std::string ignored;
    stored = load_matmul_cache(options.cache_path, identity, &ignored);
    if (!ignored.empty()) std::fprintf(stderr, "%s\n", ignored.c_str());
  }

  ~Impl() {
    try {
      save();
    } catch (const std::exception& error) {
      std::fprintf(stderr, "%s\n", error.what());
    }
  }

  void save() {
    if (options.cache_path.empty() || !unsaved) return;
    store_matmul_cache(options.cache_path, identity, stored);
    unsaved = false;
  }

  // T in, and out the same except for FP32 parameter gradients.
  template <class T>
  MatmulProblem problem_of(MatmulOp op, LtEpilogue epilogue, bool accumulate, std::int64_t n, std::int64_t c,
                           std::int64_t oc) const {
    MatmulProblem problem;
    problem.op = op;
    problem.precision = std::is_same_v<T, bf16>               ? MatmulPrecision::bfloat16
                        : options.fp32_math == Fp32Math::tf32 ? MatmulPrecision::tf32
                                                              : MatmulPrecision::float32;
    problem.epilogue = epilogue;
    problem.accumulate = accumulate;
    problem.rows = n;
    problem.channels = c;
    problem.out_channels = oc;
    problem.workspace_bytes = options.workspace_bytes;
    if (n <= 0 || c <= 0 || oc <= 0) {
      throw std::invalid_argument(problem.description() + ": sizes must be at least 1");
    }
    if (problem.has_aux()) {
      const std::int64_t multiple = 16 / static_cast<std::int64_t>(sizeof(T));
      if (problem.m() % multiple != 0) {
        throw std::invalid_argument(problem.description() +
                                    ": a stored GELU argument needs rows of a multiple of " +
                                    std::to_string(multiple) + " elements; use the separate GELU kernels");
      }
    }
    return problem;
  }

  MatmulProblem fp8_problem(MatmulOp op, LtEpilogue epilogue, bool accumulate, std::int64_t n, std::int64_t c,
                            std::int64_t oc, bool fast, bool fp8_result = false) const {
    MatmulProblem problem = problem_of<bf16>(op, epilogue, accumulate, n, c, oc);
    problem.precision = MatmulPrecision::fp8;
    problem.fast_accumulation = fast;
    problem.fp8_result = fp8_result;
    if (n % 16 != 0 || c % 16 != 0 || oc % 16 != 0) {
      throw std::invalid_argument(problem.description() + ": sizes must be multiples of 16");
    }
    return problem;
  }

  // D = A^T B of two FP8 operands that lie along the sum, with the residual if there is one.
  void run_fp8(MatmulProblem problem, void* d, const Fp8Operand& a, const Fp8Operand& b, const bf16* bias,
               cudaStream_t stream, const bf16* residual = nullptr) {
    Plan& plan = fp8_plan(problem, d, a, b, bias, stream, residual);
    run(plan, problem, a.data, b.data, d, stream, residual);
  }
  void run_fp8(MatmulProblem problem, const Fp8Result& d, const Fp8Operand& a, const Fp8Operand& b,
               const bf16* bias, cudaStream_t stream) {
    check_scale(problem, d.scale);
    check_scale(problem, d.amax);
    Plan& plan = fp8_plan(problem, d.data, a, b, bias, stream);
    plan.operation.set_result(d.scale, d.amax);
    run(plan, problem, a.data, b.data, d.data, stream);
  }

  // Sets the problem's alignments, and in its plan what every call has of its own.
  Plan& fp8_plan(MatmulProblem& problem, const void* d, const Fp8Operand& a, const Fp8Operand& b,
                 const bf16* bias, cudaStream_t stream, const bf16* residual = nullptr) {
    set_alignments(problem, a.data, b.data, d, residual);
    check_scale(problem, a.inverse);
    check_scale(problem, b.inverse);
    Plan& plan = plan_of(problem, stream);
    if (bias != nullptr) plan.operation.set_bias(bias);
    plan.operation.set_scales(a.inverse, b.inverse);
    return plan;
  }

  static void check_scale(const MatmulProblem& problem, const float* scale) {
    if (scale == nullptr || reinterpret_cast<std::uintptr_t>(scale) % 16 != 0) {
      throw LibraryError(problem.description(), "a scale or magnitude is missing or not aligned to 16 bytes",
                         __FILE__, __LINE__);
    }
  }

  // Looks for an algorithm; null when cuBLASLt has none.
  std::unique_ptr<Plan> find(const MatmulProblem& problem, cudaStream_t stream) {
    auto plan = std::make_unique<Plan>(problem);
    // Only whether they are set matters to the heuristics.
    if (problem.has_bias()) plan->operation.set_bias(workspace.data());
    if (problem.has_aux()) plan->operation.set_aux(workspace.data());
    if (problem.precision == MatmulPrecision::fp8) {
      const auto* any = reinterpret_cast<const float*>(workspace.data());
      plan->operation.set_scales(any, any);
      if (problem.fp8_result) {
        plan->operation.set_result(any, reinterpret_cast<float*>(workspace.data()));
      }
    }

    const auto entry = stored.find(problem.key());
    if (options.search != MatmulSearch::off && entry != stored.end()) {
      std::size_t needed_bytes = 0;
      if (plan->operation.check(handle.get(), entry->second.algo, &needed_bytes) == CUBLAS_STATUS_SUCCESS &&
          needed_bytes <= options.workspace_bytes) {
        plan->selection = entry->second;
        plan->selection.workspace_bytes = needed_bytes;
        plan->source = "cache";
        return plan;
      }
    }
    const auto answers =
        matmul_heuristics(handle.get(), problem, plan->operation, options.workspace_bytes, 1);
    if (answers.empty()) return nullptr;
    plan->selection.algo = answers.front().algo;
    plan->selection.workspace_bytes = answers.front().workspaceSize;
    if (options.search != MatmulSearch::off) {
      const NvtxRange range("matmul_search");
      plan->selection = search_matmul(handle.get(), problem, plan->operation, workspace.data(), stream);
      if (plan->selection.candidates > 0) {
        plan->source = "search";
        stored[problem.key()] = plan->selection;
        unsaved = true;
      }
    }
    return plan;
  }

  Plan& plan_of(const MatmulProblem& problem, cudaStream_t stream) {
    const auto found = plans.find(problem);
    if (found != plans.end()) return *found->second;
    if (capturing(stream)) {
      throw LibraryError(
          problem.description(),
          "its algorithm is not chosen yet and cannot be during stream capture; run one step first", __FILE__,
          __LINE__);
    }
    std::unique_ptr<Plan> plan = find(problem, stream);
    if (!plan) {
      throw LibraryError(problem.description(), "cuBLASLt has no algorithm for it; use the unfused form",
                         __FILE__, __LINE__);
    }
    if (problem.epilogue == LtEpilogue::bias_gradient && problem.accumulate) {
      plan->bias_gradient = DeviceBuffer<float>(problem.out_channels);
    }
    order.push_back(problem);
    return *plans.emplace(problem, std::move(plan)).first->second;
  }

  void run(Plan& plan, const MatmulProblem& problem, const void* a, const void* b, void* d,
           cudaStream_t stream, const void* residual = nullptr) {
    const cublasStatus_t status =
        plan.operation.run(handle.get(), plan.selection.algo, a, b, problem.accumulate ? d : residual, d,
                           workspace.data(), plan.selection.workspace_bytes, stream);
    if (status != CUBLAS_STATUS_SUCCESS) {
      throw LibraryError(problem.description(), cublasLtGetStatusString(status), __FILE__, __LINE__);
    }
  }

  void set_alignments(MatmulProblem& problem, const void* a, const void* b, const void* d,
                      const void* residual = nullptr) const {
    problem.a_alignment_bytes = alignment_class(a, problem);
    problem.b_alignment_bytes = alignment_class(b, problem);
    problem.d_alignment_bytes = alignment_class(d, problem);
    if (residual != nullptr) {
      problem.d_alignment_bytes = std::min(problem.d_alignment_bytes, alignment_class(residual, problem));
    }
  }

  // A residual that is missing would be a GEMM without one.
  static void require_residual(MatmulProblem& problem, const void* residual) {
    problem.residual = true;
    if (residual == nullptr) throw std::invalid_argument(problem.description() + ": there is no residual");
  }

  MatmulOptions options;
  std::unique_ptr<cublasLtHandle_t, LightHandleDeleter> handle;
  DeviceBuffer<unsigned char> workspace;
  MatmulCacheIdentity identity;
  std::map<std::string, MatmulSelection> stored;
  bool unsaved = false;
  std::unordered_map<MatmulProblem, std::unique_ptr<Plan>, MatmulProblemHash> plans;
  std::vector<MatmulProblem> order;
};

Matmul::Matmul(MatmulOptions options) : impl_(std::make_unique<Impl>(std::move(options))) {}
Matmul::~Matmul() = default;
Matmul::Matmul(Matmul&&) noexcept = default;
Matmul& Matmul::operator=(Matmul&&) noexcept = default;

template <class T>
void Matmul::forward(T* out, const T* inp, const T* weight, const T* bias, std::int64_t n, std::int64_t c,
                     std::int64_t oc, cudaStream_t stream, MatmulEpilogue epilogue, T* pre_gelu) {
  const bool gelu = epilogue == MatmulEpilogue::gelu;
  const bool aux = gelu && pre_gelu != nullptr;
  const NvtxRange range("matmul_forward", {matmul_forward_bytes<T>(n, c, oc, bias != nullptr, aux),
                                           matmul_flops(n, c, oc), n, oc, c});
  LtEpilogue lt = bias != nullptr ? LtEpilogue::bias : LtEpilogue::none;
  if (gelu) lt = bias != nullptr ? LtEpilogue::bias_gelu : LtEpilogue::gelu;
  if (aux) lt = bias != nullptr ? LtEpilogue::bias_gelu_aux : LtEpilogue::gelu_aux;
  MatmulProblem problem = impl_->problem_of<T>(MatmulOp::forward, lt, false, n, c, oc);
  impl_->set_alignments(problem, weight, inp, out);
  Plan& plan = impl_->plan_of(problem, stream);
  if (bias != nullptr) plan.operation.set_bias(bias);
  if (aux) plan.operation.set_aux(pre_gelu);
  impl_->run(plan, problem, weight, inp, out, stream);
}

template <class T>
void Matmul::forward_residual(T* out, const T* residual, const T* inp, const T* weight, const T* bias,
                              std::int64_t n, std::int64_t c, std::int64_t oc, cudaStream_t stream) {
  const NvtxRange range("matmul_forward", {matmul_forward_bytes<T>(n, c, oc, bias != nullptr, false, true),
                                           matmul_flops(n, c, oc), n, oc, c});
  const LtEpilogue epilogue = bias != nullptr ? LtEpilogue::bias : LtEpilogue::none;
  MatmulProblem problem = impl_->problem_of<T>(MatmulOp::forward, epilogue, false, n, c, oc);
  Impl::require_residual(problem, residual);
  impl_->set_alignments(problem, weight, inp, out, residual);
  Plan& plan = impl_->plan_of(problem, stream);
  if (bias != nullptr) plan.operation.set_bias(bias);
  impl_->run(plan, problem, weight, inp, out, stream, residual);
}

template <class T>
void Matmul::backward_input(T* dinp, const T* dout, const T* weight, std::int64_t n, std::int64_t c,
                            std::int64_t oc, cudaStream_t stream, const T* pre_gelu, bool accumulate) {
  const bool dgelu = pre_gelu != nullptr;
  if (dgelu && accumulate) {
    throw std::invalid_argument("matmul backward_input: a GELU gradient cannot be accumulated");
  }
  const NvtxRange range("matmul_backward_input", {matmul_backward_input_bytes<T>(n, c, oc, dgelu, accumulate),
                                                  matmul_flops(n, c, oc), n, c, oc});
  MatmulProblem problem = impl_->problem_of<T>(
      MatmulOp::backward_input, dgelu ? LtEpilogue::dgelu : LtEpilogue::none, accumulate, n, c, oc);
  impl_->set_alignments(problem, weight, dout, dinp);
  Plan& plan = impl_->plan_of(problem, stream);
  if (dgelu) plan.operation.set_aux(pre_gelu);
  impl_->run(plan, problem, weight, dout, dinp, stream);
}

template <class T>
void Matmul::backward_weight(float* dweight, const T* dout, const T* inp, std::int64_t n, std::int64_t c,
                             std::int64_t oc, cudaStream_t stream, bool accumulate, float* dbias) {
  const bool bias_gradient = dbias != nullptr;
  const NvtxRange range("matmul_backward_weight",
                        {matmul_backward_weight_bytes<T>(n, c, oc, bias_gradient, accumulate),
                         matmul_flops(n, c, oc), oc, c, n});
  MatmulProblem problem = impl_->problem_of<T>(MatmulOp::backward_weight,
                                               bias_gradient ? LtEpilogue::bias_gradient : LtEpilogue::none,
                                               accumulate, n, c, oc);
  impl_->set_alignments(problem, inp, dout, dweight);
  Plan& plan = impl_->plan_of(problem, stream);
  if (!bias_gradient) {
    impl_->run(plan, problem, inp, dout, dweight, stream);
    return;
  }
  // The epilogue overwrites; beta applies to the GEMM only.
  plan.operation.set_bias(accumulate ? plan.bias_gradient.data() : dbias);
  impl_->run(plan, problem, inp, dout, dweight, stream);
  if (accumulate) launch_add(dbias, plan.bias_gradient.data(), oc, stream);
}

void Matmul::forward_fp8(bf16* out, const Fp8Operand& inp, const Fp8Operand& weight, const bf16* bias,
                         std::int64_t n, std::int64_t c, std::int64_t oc, bool fast, cudaStream_t stream) {
  const NvtxRange range("matmul_forward", {matmul_fp8_forward_bytes(n, c, oc, bias != nullptr),
                                           matmul_flops(n, c, oc), n, oc, c});
  const LtEpilogue epilogue = bias != nullptr ? LtEpilogue::bias : LtEpilogue::none;
  impl_->run_fp8(impl_->fp8_problem(MatmulOp::forward, epilogue, false, n, c, oc, fast), out, weight, inp,
                 bias, stream);
}

void Matmul::forward_residual_fp8(bf16* out, const bf16* residual, const Fp8Operand& inp,
                                  const Fp8Operand& weight, const bf16* bias, std::int64_t n, std::int64_t c,
                                  std::int64_t oc, bool fast, cudaStream_t stream) {
  const NvtxRange range("matmul_forward", {matmul_fp8_forward_bytes(n, c, oc, bias != nullptr, false, true),
                                           matmul_flops(n, c, oc), n, oc, c});
  const LtEpilogue epilogue = bias != nullptr ? LtEpilogue::bias : LtEpilogue::none;
  MatmulProblem problem = impl_->fp8_problem(MatmulOp::forward, epilogue, false, n, c, oc, fast);
  Impl::require_residual(problem, residual);
  impl_->run_fp8(problem, out, weight, inp, bias, stream, residual);
}

void Matmul::forward_fp8(const Fp8Result& out, const Fp8Operand& inp, const Fp8Operand& weight,
                         const bf16* bias, std::int64_t n, std::int64_t c, std::int64_t oc, bool fast,
                         cudaStream_t stream) {
  const NvtxRange range("matmul_forward", {matmul_fp8_forward_bytes(n, c, oc, bias != nullptr, true),
                                           matmul_flops(n, c, oc), n, oc, c});
  const LtEpilogue epilogue = bias != nullptr ? LtEpilogue::bias : LtEpilogue::none;
  impl_->run_fp8(impl_->fp8_problem(MatmulOp::forward, epilogue, false, n, c, oc, fast, true), out, weight,
                 inp, bias, stream);
}

void Matmul::backward_input_fp8(bf16* dinp, const Fp8Operand& dout, const Fp8Operand& weight_transposed,
                                std::int64_t n, std::int64_t c, std::int64_t oc, bool fast,
                                cudaStream_t stream) {
  const NvtxRange range("matmul_backward_input",
                        {matmul_fp8_backward_input_bytes(n, c, oc), matmul_flops(n, c, oc), n, c, oc});
  impl_->run_fp8(impl_->fp8_problem(MatmulOp::backward_input, LtEpilogue::none, false, n, c, oc, fast), dinp,
                 weight_transposed, dout, nullptr, stream);
}

void Matmul::backward_input_fp8(const Fp8Result& dinp, const Fp8Operand& dout,
                                const Fp8Operand& weight_transposed, std::int64_t n, std::int64_t c,
                                std::int64_t oc, bool fast, cudaStream_t stream) {
  const NvtxRange range("matmul_backward_input",
                        {matmul_fp8_backward_input_bytes(n, c, oc, true), matmul_flops(n, c, oc), n, c, oc});
  impl_->run_fp8(impl_->fp8_problem(MatmulOp::backward_input, LtEpilogue::none, false, n, c, oc, fast, true),
                 dinp, weight_transposed, dout, nullptr, stream);
}

void Matmul::backward_weight_fp8(float* dweight, const Fp8Operand& dout_transposed,
                                 const Fp8Operand& inp_transposed, std::int64_t n, std::int64_t c,
                                 std::int64_t oc, bool fast, cudaStream_t stream, bool accumulate) {
  const NvtxRange range("matmul_backward_weight", {matmul_fp8_backward_weight_bytes(n, c, oc, accumulate),
                                                   matmul_flops(n, c, oc), oc, c, n});
  impl_->run_fp8(impl_->fp8_problem(MatmulOp::backward_weight, LtEpilogue::none, accumulate, n, c, oc, fast),
                 dweight, inp_transposed, dout_transposed, nullptr, stream);
}

template <class T>
bool Matmul::bias_gradient_fused(std::int64_t n, std::int64_t c, std::int64_t oc, bool accumulate) {
  const MatmulProblem problem =
      impl_->problem_of<T>(MatmulOp::backward_weight, LtEpilogue::bias_gradient, accumulate, n, c, oc);
  LtOperation operation(problem);
  operation.set_bias(impl_->workspace.data());
  return !matmul_heuristics(impl_->handle.get(), problem, operation, impl_->options.workspace_bytes, 1)
              .empty();
}

std::vector<MatmulChoice> Matmul::choices() const {
  std::vector<MatmulChoice> result;
  for (const MatmulProblem& problem : impl_->order) {
    const Plan& plan = *impl_->plans.at(problem);
    MatmulChoice choice;
    choice.op = name_of(problem.op);
    choice.epilogue = name_of(problem.epilogue);
    if (problem.residual) {
      choice.epilogue = problem.epilogue == LtEpilogue::none ? "residual" : choice.epilogue + "+residual";
    }
    if (problem.fp8_result) choice.epilogue += ", to fp8";
    choice.precision = name_of(problem.precision);
    choice.n = problem.rows;
    choice.c = problem.channels;
    choice.oc = problem.out_channels;
    choice.accumulate = problem.accumulate;
    choice.algorithm = describe_algorithm(plan.selection.algo);
    choice.source = plan.source;
    choice.candidates = plan.selection.candidates;
    choice.time_ns = plan.selection.time_ns;
    choice.default_time_ns = plan.selection.default_time_ns;
    if (choice.time_ns > 0.0) {
      choice.flops_per_s =
          static_cast<double>(matmul_flops(problem.rows, problem.channels, problem.out_channels)) /
          choice.time_ns * 1e9;
    }
    result.push_back(std::move(choice));
  }
  return result;
}

void Matmul::save_cache() {
  impl_->save();
}

std::size_t Matmul::workspace_bytes() const {
  return impl_->options.workspace_bytes;
}

#define RIDGELINE_MATMUL_INSTANTIATE(T)                                                                     \
  template void Matmul::forward<T>(T*, const T*, const T*, const T*, std::int64_t, std::int64_t,            \
                                   std::int64_t, cudaStream_t, MatmulEpilogue, T*);                         \
  template void Matmul::forward_residual<T>(T*, const T*, const T*, const T*, const T*, std::int64_t,       \
                                            std::int64_t, std::int64_t, cudaStream_t);                      \
  template void Matmul::backward_input<T>(T*, const T*, const T*, std::int64_t, std::int64_t, std::int64_t, \
                                          cudaStream_t, const T*, bool);                                    \
  template void Matmul::backward_weight<T>(float*, const T*, const T*, std::int64_t, std::int64_t,          \
                                           std::int64_t, cudaStream_t, bool, float*);                       \
  template bool Matmul::bias_gradient_fused<T>(std::int64_t, std::int64_t, std::int64_t, bool)

RIDGELINE_MATMUL_INSTANTIATE(float);
RIDGELINE_MATMUL_INSTANTIATE(bf16);

#undef RIDGELINE_MATMUL_INSTANTIATE

}  // namespace ridgeline::gpt2
