// What is loaded, created and found out while kernels are counted: modules and lazily loaded kernels, library
// handles with their choice of algorithms, memory pools, contexts.
#include <cublasLt.h>

#include <array>
#include <memory>
#include <utility>

#include "gauntlet.h"

namespace gauntlet {
namespace {

/// words[i] += salt, compiled by the driver when the module is loaded.
constexpr char kPtx[] = R"(
.version 7.8
.target sm_80
.address_size 64
.visible .entry bump(.param .u64 words, .param .u32 salt)
{
  .reg .b32 %r<8>;
  .reg .b64 %rd<4>;
  ld.param.u64 %rd1, [words];
  ld.param.u32 %r1, [salt];
  mov.u32 %r2, %ctaid.x;
  mov.u32 %r3, %ntid.x;
  mov.u32 %r4, %tid.x;
  mad.lo.u32 %r5, %r2, %r3, %r4;
  cvta.to.global.u64 %rd1, %rd1;
  mul.wide.u32 %rd2, %r5, 4;
  add.u64 %rd3, %rd1, %rd2;
  ld.global.u32 %r6, [%rd3];
  add.u32 %r6, %r6, %r1;
  st.global.u32 [%rd3], %r6;
  ret;
}
)";

void launch_bump(CUfunction function, CUstream stream, CUdeviceptr words, std::uint32_t salt) {
  void* arguments[] = {&words, &salt};
  check(cuLaunchKernel(function, kWords / kThreads, 1, 1, kThreads, 1, 1, 0, stream, arguments, nullptr),
        "launching bump");
}

Step module_case(const Bench& bench) {
  return [bench](int number) {
    CUmodule module = nullptr;
    CUfunction function = nullptr;
    check(cuModuleLoadData(&module, kPtx), "loading a module");
    check(cuModuleGetFunction(&function, module, "bump"), "finding a function");
    launch_bump(function, bench.stream, reinterpret_cast<CUdeviceptr>(bench.words),
                static_cast<std::uint32_t>(number));
    mix(bench.stream, bench.words, 1);
    check(cudaStreamSynchronize(bench.stream), "waiting");
    check(cuModuleUnload(module), "unloading a module");
  };
}

/// The same as a library of kernels, which belongs to no context until it is used in one.
Step kernel_library_case(const Bench& bench) {
  return [bench](int number) {
    CUlibrary library = nullptr;
    CUkernel kernel = nullptr;
    CUfunction function = nullptr;
    check(cuLibraryLoadData(&library, kPtx, nullptr, nullptr, 0, nullptr, nullptr, 0), "loading a library");
    check(cuLibraryGetKernel(&kernel, library, "bump"), "finding a kernel");
    check(cuKernelGetFunction(&function, kernel), "making a function of a kernel");
    launch_bump(function, bench.stream, reinterpret_cast<CUdeviceptr>(bench.words),
                static_cast<std::uint32_t>(number));
    check(cudaStreamSynchronize(bench.stream), "waiting");
    check(cuLibraryUnload(library), "unloading a library");
  };
}

/// One kernel per step that has not been launched before, so that the driver loads it then.
template <int kNumber>
__global__ void first_time(std::uint32_t* words) {
  const std::uint32_t i = blockIdx.x * blockDim.x + threadIdx.x;
  words[i] = words[i] * (2u * kNumber + 1u) + kNumber;
}

using Launch = void (*)(cudaStream_t, std::uint32_t*);
template <int kNumber>
void launch_first_time(cudaStream_t stream, std::uint32_t* words) {
  first_time<kNumber><<<kWords / kThreads, kThreads, 0, stream>>>(words);
}
template <int... kNumbers>
constexpr std::array<Launch, sizeof...(kNumbers)> launches_of(std::integer_sequence<int, kNumbers...>) {
  return {launch_first_time<kNumbers>...};
}

Step lazy_case(const Bench& bench) {
  return [bench](int number) {
    static constexpr auto kLaunches = launches_of(std::make_integer_sequence<int, 64>{});
    kLaunches[static_cast<std::size_t>(number) % kLaunches.size()](bench.stream, bench.words);
    check(cudaGetLastError(), "launching a new kernel");
    mix(bench.stream, bench.words, 2);
  };
}

void check(cublasStatus_t result, const char* what) {
  gauntlet::check(result == CUBLAS_STATUS_SUCCESS ? cudaSuccess : cudaErrorUnknown, what);
}

__global__ void to_floats(const std::uint32_t* words, float* values) {
  const std::uint32_t i = blockIdx.x * blockDim.x + threadIdx.x;
  values[i] = static_cast<float>(words[i] & 3u);
}

__global__ void from_floats(const float* values, std::uint32_t* words) {
  const std::uint32_t i = blockIdx.x * blockDim.x + threadIdx.x;
  words[i] ^= static_cast<std::uint32_t>(values[i]);
}

template <class Work>
float timed(cudaStream_t stream, const Work& work) {
  cudaEvent_t begin = nullptr, end = nullptr;
  float ms = 0;
  gauntlet::check(cudaEventCreate(&begin), "creating an event");
  gauntlet::check(cudaEventCreate(&end), "creating an event");
  gauntlet::check(cudaEventRecord(begin, stream), "recording an event");
  work();
  gauntlet::check(cudaEventRecord(end, stream), "recording an event");
  gauntlet::check(cudaEventSynchronize(end), "waiting for an event");
  gauntlet::check(cudaEventElapsedTime(&ms, begin, end), "timing");
  gauntlet::check(cudaEventDestroy(begin), "destroying an event");
  gauntlet::check(cudaEventDestroy(end), "destroying an event");
  return ms;
}

/// A GEMM of small whole numbers, which FP32 holds exactly whatever the algorithm. 256 × 256 is kWords.
struct Gemm {
  static constexpr int kSide = 256;
  static_assert(kSide * kSide == kWords);
  static constexpr std::size_t kWorkspaceBytes = 4 << 20;
  float *a = nullptr, *b = nullptr;
  void* workspace = nullptr;

  Gemm() {
    gauntlet::check(cudaMalloc(&a, kWords * sizeof *a), "allocating");
    gauntlet::check(cudaMalloc(&b, kWords * sizeof *b), "allocating");
    gauntlet::check(cudaMalloc(&workspace, kWorkspaceBytes), "allocating");
  }

  /// With `candidates` above 1 the quickest of so many algorithms, each of which is timed first.
  void run(cublasLtHandle_t handle, cudaStream_t stream, std::uint32_t* words, int candidates = 1) const {
    cublasLtMatmulDesc_t operation = nullptr;
    cublasLtMatrixLayout_t layout = nullptr;
    cublasLtMatmulPreference_t preference = nullptr;
    check(cublasLtMatmulDescCreate(&operation, CUBLAS_COMPUTE_32F, CUDA_R_32F), "describing a GEMM");
    check(cublasLtMatrixLayoutCreate(&layout, CUDA_R_32F, kSide, kSide, kSide), "describing a matrix");
    check(cublasLtMatmulPreferenceCreate(&preference), "making a preference");
    check(cublasLtMatmulPreferenceSetAttribute(preference, CUBLASLT_MATMUL_PREF_MAX_WORKSPACE_BYTES,
                                               &kWorkspaceBytes, sizeof kWorkspaceBytes),
          "limiting the workspace");
    std::array<cublasLtMatmulHeuristicResult_t, 8> found{};
    int count = 0;
    check(cublasLtMatmulAlgoGetHeuristic(handle, operation, layout, layout, layout, layout, preference,
                                         candidates, found.data(), &count),
          "choosing an algorithm");
    const auto multiply = [&](const cublasLtMatmulAlgo_t& algorithm) {
      const float one = 1, zero = 0;
      check(cublasLtMatmul(handle, operation, &one, a, layout, a, layout, &zero, b, layout, b, layout,
                           &algorithm, workspace, kWorkspaceBytes, stream),
            "a GEMM");
    };
    to_floats<<<kWords / kThreads, kThreads, 0, stream>>>(words, a);
    int best = 0;
    float best_ms = 1e9f;
    for (int i = 0; candidates > 1 && i < count; ++i) {
      const float ms = timed(stream, [&] { multiply(found[static_cast<std::size_t>(i)].algo); });
      if (ms < best_ms) best = i, best_ms = ms;
    }
    multiply(found[static_cast<std::size_t>(best)].algo);
    from_floats<<<kWords / kThreads, kThreads, 0, stream>>>(b, words);
    check(cublasLtMatmulPreferenceDestroy(preference), "destroying a preference");
    check(cublasLtMatrixLayoutDestroy(layout), "destroying a layout");
    check(cublasLtMatmulDescDestroy(operation), "destroying a description");
  }
};

Step library_case(const Bench& bench) {
  auto gemm = std::make_shared<Gemm>();
  return [bench, gemm](int) {
    cublasLtHandle_t handle = nullptr;
    check(cublasLtCreate(&handle), "creating a handle");
    gemm->run(handle, bench.stream, bench.words);
    gauntlet::check(cudaStreamSynchronize(bench.stream), "waiting");
    check(cublasLtDestroy(handle), "destroying a handle");
  };
}

/// Four algorithms are timed in each step, as autotuning does it; whichever is taken, the product is the same.
Step tuning_case(const Bench& bench) {
  auto gemm = std::make_shared<Gemm>();
  cublasLtHandle_t handle = nullptr;
  check(cublasLtCreate(&handle), "creating a handle");
  return [bench, gemm, handle](int) { gemm->run(handle, bench.stream, bench.words, 4); };
}

/// As XLA records its GEMMs: captured into a graph with a handle that may be new.
Step captured_library_case(const Bench& bench) {
  auto gemm = std::make_shared<Gemm>();
  auto handle = std::make_shared<cublasLtHandle_t>(nullptr);
  check(cublasLtCreate(handle.get()), "creating a handle");
  return [bench, gemm, handle](int number) {
    cudaGraph_t graph = nullptr;
    cudaGraphExec_t exec = nullptr;
    gauntlet::check(cudaStreamBeginCapture(bench.stream, cudaStreamCaptureModeThreadLocal),
                    "beginning a capture");
    gemm->run(*handle, bench.stream, bench.words);
    mix(bench.stream, bench.words, static_cast<std::uint32_t>(number));
    gauntlet::check(cudaStreamEndCapture(bench.stream, &graph), "ending a capture");
    gauntlet::check(cudaGraphInstantiate(&exec, graph, 0), "instantiating a graph");
    gauntlet::check(cudaGraphLaunch(exec, bench.stream), "launching a graph");
    gauntlet::check(cudaGraphExecDestroy(exec), "destroying an executable graph");
    gauntlet::check(cudaGraphDestroy(graph), "destroying a graph");
  };
}

Step pool_case(const Bench& bench) {
  return [bench](int number) {
    std::uint32_t* piece = nullptr;
    gauntlet::check(cudaMallocAsync(&piece, kWords * sizeof *piece, bench.stream), "allocating");
    gauntlet::check(
        cudaMemcpyAsync(piece, bench.words, kWords * sizeof *piece, cudaMemcpyDeviceToDevice, bench.stream),
        "copying");
    mix(bench.stream, piece, static_cast<std::uint32_t>(number));
    gauntlet::check(
        cudaMemcpyAsync(bench.words, piece, kWords * sizeof *piece, cudaMemcpyDeviceToDevice, bench.stream),
        "copying");
    gauntlet::check(cudaFreeAsync(piece, bench.stream), "freeing");
    cudaMemPool_t pool = nullptr;
    gauntlet::check(cudaDeviceGetDefaultMemPool(&pool, 0), "finding the pool");
    if (number % 3 == 0) gauntlet::check(cudaMemPoolTrimTo(pool, 0), "trimming the pool");
    void* plain = nullptr;
    gauntlet::check(cudaMalloc(&plain, 8 << 20), "allocating");
    gauntlet::check(cudaMemset(plain, number, 8 << 20), "filling");
    gauntlet::check(cudaFree(plain), "freeing");
  };
}

/// A pool of its own that lives for a step.
Step own_pool_case(const Bench& bench) {
  return [bench](int number) {
    cudaMemPoolProps properties{};
    properties.allocType = cudaMemAllocationTypePinned;
    properties.location.type = cudaMemLocationTypeDevice;
    cudaMemPool_t pool = nullptr;
    gauntlet::check(cudaMemPoolCreate(&pool, &properties), "creating a pool");
    std::uint32_t* piece = nullptr;
    gauntlet::check(cudaMallocFromPoolAsync(&piece, kWords * sizeof *piece, pool, bench.stream),
                    "allocating");
    gauntlet::check(cudaMemsetAsync(piece, number, kWords * sizeof *piece, bench.stream), "filling");
    mix(bench.stream, piece, static_cast<std::uint32_t>(number));
    gauntlet::check(
        cudaMemcpyAsync(bench.spare, piece, kWords * sizeof *piece, cudaMemcpyDeviceToDevice, bench.stream),
        "copying");
    gauntlet::check(cudaFreeAsync(piece, bench.stream), "freeing");
    gauntlet::check(cudaStreamSynchronize(bench.stream), "waiting");
    gauntlet::check(cudaMemPoolDestroy(pool), "destroying a pool");
  };
}

/// A context of its own that lives for a step.
Step context_case(const Bench& bench) {
  return [bench](int number) {
    std::array<std::uint32_t, 8> word{};
    {
      CUcontext context = nullptr;
      gauntlet::check(cuCtxCreate(&context, nullptr, 0, 0), "creating a context");
      CUmodule module = nullptr;
      CUfunction function = nullptr;
      CUdeviceptr words = 0;
      gauntlet::check(cuModuleLoadData(&module, kPtx), "loading a module");
      gauntlet::check(cuModuleGetFunction(&function, module, "bump"), "finding a function");
      gauntlet::check(cuMemAlloc(&words, kWords * sizeof(std::uint32_t)), "allocating");
      gauntlet::check(cuMemsetD32(words, static_cast<unsigned>(number), kWords), "filling");
      launch_bump(function, nullptr, words, 5);
      gauntlet::check(cuCtxSynchronize(), "waiting");
      gauntlet::check(cuMemcpyDtoH(word.data(), words, sizeof word), "copying back");
      gauntlet::check(cuCtxDestroy(context), "destroying a context");
    }
    mix(bench.stream, bench.words, word[7]);
  };
}

}  // namespace

std::vector<Case> module_cases() {
  return {{"module", module_case},
          {"kernel-library", kernel_library_case},
          {"lazy", lazy_case},
          {"library", library_case},
          {"library-captured", captured_library_case},
          {"tuning", tuning_case},
          {"pool", pool_case},
          {"pool-own", own_pool_case},
          {"context", context_case}};
}

}  // namespace gauntlet
