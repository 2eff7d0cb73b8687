#include "ceilings/device/gemms.h"

#include <cublasLt.h>
#include <cuda_bf16.h>
#include <cuda_fp16.h>
#include <cuda_fp8.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <stdexcept>

#include "ceilings/core/per_cycle.h"
#include "ceilings/device/random_data.h"
#include "gpt2/common/cuda_raii.h"

namespace ridgeline::ceilings {

namespace {

constexpr std::int64_t kWorkspaceBytes = 64 << 20;
constexpr int kAlgorithms = 6;  // asked for
constexpr int kChecked = 64;    // elements of D
constexpr std::uint32_t kSeedA = 41, kSeedB = 42;

struct Type {
  const char* precision;
  Element element;
  cudaDataType_t operand;
  cudaDataType_t result;
  cublasComputeType_t compute;
  cudaDataType_t scale;
  int operand_bytes;
  int result_bytes;
  double of_result;     // tolerated, of the result: it is rounded
  double of_magnitude;  // and of |a|·|b| summed over k: inputs and sums are
};

// A result in 16 bits is rounded to 8 or 11 of them; TF32 rounds its inputs to 11; FP8's fast sums are of fewer bits.
constexpr Type kTypes[] = {
    {"bf16", Element::bf16, CUDA_R_16BF, CUDA_R_16BF, CUBLAS_COMPUTE_32F, CUDA_R_32F, 2, 2, 8e-3, 1e-5},
    {"fp16", Element::f16, CUDA_R_16F, CUDA_R_16F, CUBLAS_COMPUTE_32F, CUDA_R_32F, 2, 2, 1e-3, 1e-5},
    {"tf32", Element::f32, CUDA_R_32F, CUDA_R_32F, CUBLAS_COMPUTE_32F_FAST_TF32, CUDA_R_32F, 4, 4, 1e-5,
     2e-4},
    {"fp8", Element::e4m3, CUDA_R_8F_E4M3, CUDA_R_16BF, CUBLAS_COMPUTE_32F, CUDA_R_32F, 1, 2, 8e-3, 2e-3},
    {"int8", Element::i8, CUDA_R_8I, CUDA_R_32I, CUBLAS_COMPUTE_32I, CUDA_R_32I, 1, 4, 0, 0},
    {"fp64_tensor", Element::f64, CUDA_R_64F, CUDA_R_64F, CUBLAS_COMPUTE_64F, CUDA_R_64F, 8, 8, 1e-12, 1e-13},
};

void check(cublasStatus_t status, const char* call) {
  if (status != CUBLAS_STATUS_SUCCESS)
    throw std::runtime_error(std::string(call) + " failed: " + cublasLtGetStatusString(status));
}

struct DescDeleter {
  void operator()(cublasLtMatmulDesc_t d) const { cublasLtMatmulDescDestroy(d); }
};
struct LayoutDeleter {
  void operator()(cublasLtMatrixLayout_t l) const { cublasLtMatrixLayoutDestroy(l); }
};
struct PreferenceDeleter {
  void operator()(cublasLtMatmulPreference_t p) const { cublasLtMatmulPreferenceDestroy(p); }
};
template <typename Handle, typename Deleter>
using Owner = std::unique_ptr<std::remove_pointer_t<Handle>, Deleter>;
using Layout = Owner<cublasLtMatrixLayout_t, LayoutDeleter>;

Layout make_layout(cudaDataType_t type, std::int64_t rows, std::int64_t columns) {
  cublasLtMatrixLayout_t layout = nullptr;
  check(cublasLtMatrixLayoutCreate(&layout, type, static_cast<std::uint64_t>(rows),
                                   static_cast<std::uint64_t>(columns), rows),
        "cublasLtMatrixLayoutCreate");
  return Layout(layout);
}

// D [m, n] = Aᵀ [m, k] · B [k, n], column-major: both operands have k contiguous, as FP8 and INT8 must.
struct Problem {
  Owner<cublasLtMatmulDesc_t, DescDeleter> operation;
  Layout a, b, d;

  Problem(const Type& type, const Shape& s)
      : a(make_layout(type.operand, s.k, s.m)),
        b(make_layout(type.operand, s.k, s.n)),
        d(make_layout(type.result, s.m, s.n)) {
    cublasLtMatmulDesc_t created = nullptr;
    check(cublasLtMatmulDescCreate(&created, type.compute, type.scale), "cublasLtMatmulDescCreate");
    operation.reset(created);
    const auto set = [&](cublasLtMatmulDescAttributes_t attribute, const auto& value) {
      check(cublasLtMatmulDescSetAttribute(created, attribute, &value, sizeof value),
            "cublasLtMatmulDescSetAttribute");
    };
    set(CUBLASLT_MATMUL_DESC_TRANSA, CUBLAS_OP_T);
    set(CUBLASLT_MATMUL_DESC_TRANSB, CUBLAS_OP_N);
    if (type.element == Element::e4m3) set(CUBLASLT_MATMUL_DESC_FAST_ACCUM, std::int8_t{1});
  }
};

double element(const Type& type, const std::vector<unsigned char>& bytes, std::int64_t i) {
  const unsigned char* at = bytes.data() + i * type.operand_bytes;
  const auto read = [at](auto value) {
    std::memcpy(&value, at, sizeof value);
    return value;
  };
  switch (type.element) {
    case Element::f32:
      return read(float{});
    case Element::f64:
      return read(double{});
    case Element::bf16:
      return __bfloat162float(read(__nv_bfloat16{}));
    case Element::f16:
      return __half2float(read(__half{}));
    case Element::e4m3:
      return static_cast<float>(read(__nv_fp8_e4m3{}));
    case Element::i8:
      return read(std::int8_t{});
  }
  return 0;
}

double result_element(const Type& type, const unsigned char* at) {
  const auto read = [at](auto value) {
    std::memcpy(&value, at, sizeof value);
    return value;
  };
  switch (type.result) {
    case CUDA_R_16BF:
      return __bfloat162float(read(__nv_bfloat16{}));
    case CUDA_R_16F:
      return __half2float(read(__half{}));
    case CUDA_R_32I:
      return read(std::int32_t{});
    case CUDA_R_64F:
      return read(double{});
    default:
      return read(float{});
  }
}

std::vector<unsigned char> download(const void* from, std::int64_t bytes) {
  std::vector<unsigned char> host(static_cast<std::size_t>(bytes));
  RIDGELINE_CUDA_CHECK(cudaMemcpy(host.data(), from, host.size(), cudaMemcpyDeviceToHost));
  return host;
}

// Elements of D here and there against sums in double of the operands as they are.
std::string check_gemm(const Type& type, const Shape& s, const void* a, const void* b, const void* d) {
  for (std::uint64_t place = 0; place < kChecked; ++place) {
    const std::int64_t row = place == 0 ? s.m - 1 : random_bits(51, place) % s.m;
    const std::int64_t column = place == 0 ? s.n - 1 : random_bits(52, place) % s.n;
    const std::int64_t line = s.k * type.operand_bytes;
    const auto left = download(static_cast<const char*>(a) + row * line, line);
    const auto right = download(static_cast<const char*>(b) + column * line, line);
    double sum = 0, magnitude = 0;
    for (std::int64_t i = 0; i < s.k; ++i) {
      const double product = element(type, left, i) * element(type, right, i);
      sum += product;
      magnitude += std::fabs(product);
    }
    const auto got =
        download(static_cast<const char*>(d) + (column * s.m + row) * type.result_bytes, type.result_bytes);
    const double value = result_element(type, got.data());
    // Not the other way round: a result that is no number is wrong.
    if (!(std::fabs(value - sum) <= type.of_result * std::fabs(sum) + type.of_magnitude * magnitude))
      return std::string("element ") + std::to_string(row) + ", " + std::to_string(column) + " of " +
             s.text() + " in " + type.precision + " is " + std::to_string(value) + ", not " +
             std::to_string(sum);
  }
  return "";
}

const Type* type_of(const std::string& precision) {
  for (const Type& type : kTypes) {
    if (precision == type.precision) return &type;
  }
  return nullptr;
}

}  // namespace

struct Gemms::State {
  cublasLtHandle_t handle = nullptr;
  cudaStream_t stream = nullptr;
  gpt2::DeviceBuffer<unsigned char> a, b, d, workspace{kWorkspaceBytes};
  const Type* filled = nullptr;  // with what

  void fill(const Type& type) {
    if (filled == &type) return;
    fill_elements(a.data(), a.size() / type.operand_bytes, type.element, kSeedA, stream);
    fill_elements(b.data(), b.size() / type.operand_bytes, type.element, kSeedB, stream);
    RIDGELINE_CUDA_CHECK(cudaStreamSynchronize(stream));
    filled = &type;
  }
};

Gemms::Gemms(const DeviceFacts& device, const std::vector<Shape>& shapes, cudaStream_t stream)
    : state_(std::make_unique<State>()), device_(device) {
  check(cublasLtCreate(&state_->handle), "cublasLtCreate");
  state_->stream = stream;
  constexpr std::int64_t kMaxBytes = 4;  // of an operand's element; FP64 takes half as many
  std::int64_t a = 0, b = 0, d = 0;
  for (const Shape& s : shapes) {
    a = std::max(a, s.m * s.k);
    b = std::max(b, s.k * s.n);
    d = std::max(d, s.m * s.n);
  }
  state_->a = gpt2::DeviceBuffer<unsigned char>(a * kMaxBytes);
  state_->b = gpt2::DeviceBuffer<unsigned char>(b * kMaxBytes);
  state_->d = gpt2::DeviceBuffer<unsigned char>(d * kMaxBytes);
}

Gemms::~Gemms() {
  cublasLtDestroy(state_->handle);
}

std::vector<Bench> Gemms::candidates(const std::string& precision, const Shape& s, double counted) {
  const Type* type = type_of(precision);
  State& state = *state_;
  if (type == nullptr || s.m * s.k * type->operand_bytes > state.a.size() ||
      s.k * s.n * type->operand_bytes > state.b.size() || s.m * s.n * type->result_bytes > state.d.size())
    return {};
  const auto problem = std::make_shared<Problem>(*type, s);
  cublasLtMatmulPreference_t created = nullptr;
  check(cublasLtMatmulPreferenceCreate(&created), "cublasLtMatmulPreferenceCreate");
  const Owner<cublasLtMatmulPreference_t, PreferenceDeleter> preference(created);
  check(cublasLtMatmulPreferenceSetAttribute(created, CUBLASLT_MATMUL_PREF_MAX_WORKSPACE_BYTES,
                                             &kWorkspaceBytes, sizeof kWorkspaceBytes),
        "cublasLtMatmulPreferenceSetAttribute");
  cublasLtMatmulHeuristicResult_t found[kAlgorithms];
  int count = 0;
  if (cublasLtMatmulAlgoGetHeuristic(state.handle, problem->operation.get(), problem->a.get(),
                                     problem->b.get(), problem->d.get(), problem->d.get(), created,
                                     kAlgorithms, found, &count) != CUBLAS_STATUS_SUCCESS)
    return {};
  std::vector<Bench> out;
  for (int i = 0; i < count; ++i) {
    if (found[i].state != CUBLAS_STATUS_SUCCESS) continue;
    Bench bench;
    bench.name = {Level::compute, precision, {}};
    bench.unit = "ops_per_s";
    bench.work = s.operations() * counted;
    bench.per_cycle_sm = operations_per_cycle(device_.compute_capability, precision);
    bench.configuration = s.text() + ", cuBLASLt's proposal " + std::to_string(i + 1);
    bench.prepare = [&state, type] { state.fill(*type); };
    bench.launch = [&state, problem, type, algorithm = found[i].algo](cudaStream_t stream) {
      // Ones and zeros of the scale's type; an integer's bits are not a float's.
      const float one = 1, zero = 0;
      const double one64 = 1, zero64 = 0;
      const std::int32_t whole_one = 1, whole_zero = 0;
      const bool whole = type->scale == CUDA_R_32I, wide = type->scale == CUDA_R_64F;
      const void* alpha = whole  ? static_cast<const void*>(&whole_one)
                          : wide ? static_cast<const void*>(&one64)
                                 : static_cast<const void*>(&one);
      const void* beta = whole  ? static_cast<const void*>(&whole_zero)
                         : wide ? static_cast<const void*>(&zero64)
                                : static_cast<const void*>(&zero);
      check(cublasLtMatmul(state.handle, problem->operation.get(), alpha, state.a.data(), problem->a.get(),
                           state.b.data(), problem->b.get(), beta, state.d.data(), problem->d.get(),
                           state.d.data(), problem->d.get(), &algorithm, state.workspace.data(),
                           static_cast<std::size_t>(kWorkspaceBytes), stream),
            "cublasLtMatmul");
    };
    bench.check = [&state, type, s, launch = bench.launch] {
      // Of another shape may be what ran last.
      state.fill(*type);
      launch(state.stream);
      RIDGELINE_CUDA_CHECK(cudaStreamSynchronize(state.stream));
      return check_gemm(*type, s, state.a.data(), state.b.data(), state.d.data());
    };
    out.push_back(std::move(bench));
  }
  return out;
}

}  // namespace ridgeline::ceilings
