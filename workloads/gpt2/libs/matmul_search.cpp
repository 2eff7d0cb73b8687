#include "gpt2/libs/matmul_search.h"

#include <algorithm>
#include <array>
#include <chrono>
#include <cmath>
#include <cstdio>
#include <cstring>
#include <limits>
#include <map>
#include <set>
#include <sstream>
#include <tuple>

#include "gpt2/common/cuda_check.h"
#include "gpt2/common/cuda_raii.h"
#include "gpt2/common/dtype.h"
#include "gpt2/libs/device_fill.h"
#include "gpt2/libs/library_error.h"
#include "gpt2/libs/matmul_tiles.h"

namespace ridgeline::gpt2 {
namespace {

constexpr double kNever = std::numeric_limits<double>::infinity();
constexpr double kVariationBudget_s = 2.0;

using Clock = std::chrono::steady_clock;

struct Candidate {
  cublasLtMatmulAlgo_t algo{};
  std::size_t workspace_bytes = 0;
  double time_ns = kNever;
};

using AlgoBytes = std::array<std::uint64_t, 8>;

AlgoBytes bytes_of(const cublasLtMatmulAlgo_t& algo) {
  AlgoBytes bytes{};
  static_assert(sizeof(algo.data) == sizeof(bytes));
  std::memcpy(bytes.data(), algo.data, sizeof(bytes));
  return bytes;
}

// Operands of trial runs, with the alignments of the problem.
class TrialBuffers {
 public:
  TrialBuffers(const MatmulProblem& p, cudaStream_t stream) : problem_(p) {
    a_ = allocate(p.m() * p.k(), p.input_element_bytes(), p.a_alignment_bytes, 11, stream);
    b_ = allocate(p.k() * p.n(), p.input_element_bytes(), p.b_alignment_bytes, 12, stream);
    if (p.precision == MatmulPrecision::fp8) {
      launch_fill_normal_fp8(static_cast<std::uint8_t*>(a_), p.m() * p.k(), Fp8Format::e4m3, 11, stream);
      launch_fill_normal_fp8(static_cast<std::uint8_t*>(b_), p.k() * p.n(), p.fp8_format(), 12, stream);
      // A result in FP8 has room for six times its deviation: saturated ones are all alike.
      std::vector<float> scales(kScaleFloats, 1.0F);
      scales[kResultScaleAt] = fp8_scale(6.0F * gemm_deviation(), p.fp8_format());
      scales_ = DeviceBuffer<float>(kScaleFloats);
      scales_.upload(scales);
    }
    d_ = allocate(p.m() * p.n(), p.output_element_bytes(), p.d_alignment_bytes, 13, stream);
    if (p.residual) {  // of the GEMM's size, so that an algorithm that leaves either out is seen
      const float deviation = gemm_deviation();
      c_ = allocate(p.m() * p.n(), p.epilogue_element_bytes(), p.d_alignment_bytes, 16, stream, deviation);
    }
    if (p.has_bias()) {
      bias_ = allocate(std::max(p.m(), p.n()), p.epilogue_element_bytes(), 256, 14, stream);
    }
    if (p.has_aux()) aux_ = allocate(p.m() * p.n(), p.input_element_bytes(), 256, 15, stream);
  }

  const void* a() const { return a_; }
  const void* b() const { return b_; }
  const void* c() const { return c_; }  // null: nothing lies apart from D
  void* d() const { return d_; }
  void* bias() const { return bias_; }
  void* aux() const { return aux_; }
  const float* scale() const { return scales_.data(); }  // of A and of B; null: there is none
  const float* result_scale() const { return scales_.data() + kResultScaleAt; }
  float* amax() { return scales_.data() + kAmaxAt; }

 private:
  // Operands have deviation 1, in FP8 16.
  float gemm_deviation() const {
    const float of_terms = problem_.precision == MatmulPrecision::fp8 ? 256.0F : 1.0F;
    return of_terms * std::sqrt(static_cast<float>(problem_.k()));
  }

  void* allocate(std::int64_t elements, std::size_t element_bytes, std::uint32_t alignment_bytes,
                 std::uint64_t seed, cudaStream_t stream, float deviation = 1.0F) {
    // cudaMalloc aligns to 256 bytes and more; a lower alignment is made by an offset.
    const std::int64_t offset = alignment_bytes >= 256 ? 0 : alignment_bytes;
    storage_.emplace_back(elements * static_cast<std::int64_t>(element_bytes) + offset);
    void* data = storage_.back().data() + offset;
    if (element_bytes == 1) return data;  // FP8, whose format is the constructor's to say
    if (element_bytes == 2) {
      launch_fill_normal(static_cast<bf16*>(data), elements, deviation, seed, stream);
    } else {
      launch_fill_normal(static_cast<float*>(data), elements, deviation, seed, stream);
    }
    return data;
  }

  // Every 16 bytes, without which cuBLASLt refuses them.
  static constexpr int kResultScaleAt = 4;
  static constexpr int kAmaxAt = 8;
  static constexpr int kScaleFloats = 9;

  MatmulProblem problem_;
  std::vector<DeviceBuffer<unsigned char>> storage_;
  DeviceBuffer<float> scales_;
  void* a_ = nullptr;
  void* b_ = nullptr;
  void* c_ = nullptr;
  void* d_ = nullptr;
  void* bias_ = nullptr;
  void* aux_ = nullptr;
};

class Trial {
 public:
  Trial(cublasLtHandle_t handle, const MatmulProblem& problem, LtOperation& operation, void* workspace,
        cudaStream_t stream)
      : handle_(handle),
        problem_(problem),
        operation_(operation),
        buffers_(problem, stream),
        workspace_(workspace),
        stream_(stream) {
    if (problem.has_bias()) operation_.set_bias(buffers_.bias());
    if (problem.has_aux()) operation_.set_aux(buffers_.aux());
    if (buffers_.scale() != nullptr) operation_.set_scales(buffers_.scale(), buffers_.scale());
    if (problem.fp8_result) operation_.set_result(buffers_.result_scale(), buffers_.amax());
  }

  // Time of one run in ns, the mean of count; infinite when the algorithm does not run.
  double time(const Candidate& candidate, int count) {
    start_.record(stream_);
    for (int i = 0; i < count; ++i) {
      if (run(candidate, problem_.accumulate) != CUBLAS_STATUS_SUCCESS) {
        RIDGELINE_CUDA_CHECK(cudaStreamSynchronize(stream_));
        return kNever;
      }
    }
    stop_.record(stream_);
    stop_.synchronize();
    return static_cast<double>(stop_.elapsed_ms_since(start_)) * 1e6 / count;
  }

  // Whether both algorithms compute the same, on the first and last 32 MiB of D.
  bool same_result(const Candidate& x, const Candidate& reference) {
    const std::int64_t elements = problem_.m() * problem_.n();
    const auto element_bytes = static_cast<std::int64_t>(problem_.output_element_bytes());
    const std::int64_t part = std::min<std::int64_t>(elements, (std::int64_t{32} << 20) / element_bytes);
    DeviceBuffer<unsigned char> kept(2 * part * element_bytes);
    DeviceBuffer<float> result(2);
    auto* d = static_cast<unsigned char*>(buffers_.d());
    const std::array<std::int64_t, 2> offsets = {0, (elements - part) * element_bytes};
    // Outputs that a run leaves unwritten must not pass for equal.
    RIDGELINE_CUDA_CHECK(
        cudaMemsetAsync(d, 0xFF, static_cast<std::size_t>(elements * element_bytes), stream_));
    if (run(reference, false) != CUBLAS_STATUS_SUCCESS) return false;
    for (std::size_t i = 0; i < 2; ++i) {
      RIDGELINE_CUDA_CHECK(cudaMemcpyAsync(kept.data() + static_cast<std::int64_t>(i) * part * element_bytes,
                                           d + offsets[i], static_cast<std::size_t>(part * element_bytes),
                                           cudaMemcpyDeviceToDevice, stream_));
    }
    RIDGELINE_CUDA_CHECK(
        cudaMemsetAsync(d, 0xFF, static_cast<std::size_t>(elements * element_bytes), stream_));
    if (run(x, false) != CUBLAS_STATUS_SUCCESS) return false;
    RIDGELINE_CUDA_CHECK(cudaMemsetAsync(result.data(), 0, 2 * sizeof(float), stream_));
    for (std::size_t i = 0; i < 2; ++i) {
      const unsigned char* expected = kept.data() + static_cast<std::int64_t>(i) * part * element_bytes;
      if (problem_.fp8_result) {
        launch_compare_fp8(result.data(), expected, d + offsets[i], part, problem_.fp8_format(), stream_);
      } else if (element_bytes == 2) {
        launch_compare(result.data(), reinterpret_cast<const bf16*>(expected),
                       reinterpret_cast<const bf16*>(d + offsets[i]), part, stream_);
      } else {
        launch_compare(result.data(), reinterpret_cast<const float*>(expected),
                       reinterpret_cast<const float*>(d + offsets[i]), part, stream_);
      }
    }
    RIDGELINE_CUDA_CHECK(cudaStreamSynchronize(stream_));
    const std::vector<float> values = result.download();
    // Tensor cores add GEMMs of FP8 with 14 bits or so, and algorithms differ in how often they move them to FP32.
    const bool coarse =
        problem_.precision == MatmulPrecision::tf32 || problem_.precision == MatmulPrecision::fp8;
    // A result in FP8 may be rounded to the neighbour: to the next of 8 or of 4 up to the double.
    const float step = problem_.fp8_format() == Fp8Format::e4m3 ? 0x1p-3F : 0x1p-2F;
    const float tolerance = problem_.fp8_result  ? step
                            : element_bytes == 2 ? 0x1p-6F
                            : coarse             ? 1e-2F
                                                 : 1e-3F;
    return values[1] <= tolerance * std::max(values[0], 1.0F);
  }

 private:
  cublasStatus_t run(const Candidate& candidate, bool accumulate) {
    const void* addend = accumulate ? buffers_.d() : buffers_.c();
    return operation_.run(handle_, candidate.algo, buffers_.a(), buffers_.b(), addend, buffers_.d(),
                          workspace_, candidate.workspace_bytes, stream_);
  }

  cublasLtHandle_t handle_;
  const MatmulProblem& problem_;
  LtOperation& operation_;
  TrialBuffers buffers_;
  void* workspace_;
  cudaStream_t stream_;
  Event start_;
  Event stop_;
};

template <class T>
bool set_config(cublasLtMatmulAlgo_t& algo, cublasLtMatmulAlgoConfigAttributes_t attribute, T value) {
  return cublasLtMatmulAlgoConfigSetAttribute(&algo, attribute, &value, sizeof(value)) ==
         CUBLAS_STATUS_SUCCESS;
}

template <class T>
T get_config(const cublasLtMatmulAlgo_t& algo, cublasLtMatmulAlgoConfigAttributes_t attribute) {
  T value{};
  std::size_t written = 0;
  if (cublasLtMatmulAlgoConfigGetAttribute(&algo, attribute, &value, sizeof(value), &written) !=
      CUBLAS_STATUS_SUCCESS) {
    return T{};
  }
  return value;
}

template <class T>
std::vector<T> list_capability(const cublasLtMatmulAlgo_t& algo,
                               cublasLtMatmulAlgoCapAttributes_t attribute) {
  std::size_t bytes = 0;
  if (cublasLtMatmulAlgoCapGetAttribute(&algo, attribute, nullptr, 0, &bytes) != CUBLAS_STATUS_SUCCESS)
    return {};
  std::vector<T> values(bytes / sizeof(T));
  if (values.empty() || cublasLtMatmulAlgoCapGetAttribute(&algo, attribute, values.data(), bytes, &bytes) !=
                            CUBLAS_STATUS_SUCCESS) {
    return {};
  }
  return values;
}

template <class T>
T capability(const cublasLtMatmulAlgo_t& algo, cublasLtMatmulAlgoCapAttributes_t attribute) {
  T value{};
  std::size_t written = 0;
  cublasLtMatmulAlgoCapGetAttribute(&algo, attribute, &value, sizeof(value), &written);
  return value;
}

// Tiles that the algorithm claims; of a long list only the large ones.
std::vector<std::uint32_t> tiles_of(const cublasLtMatmulAlgo_t& algo) {
  std::vector<std::uint32_t> tiles = list_capability<std::uint32_t>(algo, CUBLASLT_ALGO_CAP_TILE_IDS);
  if (tiles.size() <= 64) return tiles;
  std::erase_if(tiles, [](std::uint32_t tile) {
    return std::find(std::begin(kLargeTiles), std::end(kLargeTiles), tile) == std::end(kLargeTiles);
  });
  return tiles;
}

// Every tile with the clusters of one and two blocks: the two settings that decide most, and not
// independently.
std::vector<cublasLtMatmulAlgo_t> tile_grid(const cublasLtMatmulAlgo_t& seed) {
  std::vector<cublasLtMatmulAlgo_t> result;
  for (const std::uint32_t tile : tiles_of(seed)) {
    for (const std::uint16_t cluster :
         {std::uint16_t{CUBLASLT_CLUSTER_SHAPE_1x1x1}, std::uint16_t{CUBLASLT_CLUSTER_SHAPE_2x1x1},
          std::uint16_t{CUBLASLT_CLUSTER_SHAPE_1x2x1}}) {
      cublasLtMatmulAlgo_t algo = seed;
      if (set_config(algo, CUBLASLT_ALGO_CONFIG_TILE_ID, tile) &&
          set_config(algo, CUBLASLT_ALGO_CONFIG_CLUSTER_SHAPE_ID, cluster)) {
        result.push_back(algo);
      }
    }
  }
  return result;
}

// algo with one of the other settings changed, for every value that the algorithm claims.
std::vector<cublasLtMatmulAlgo_t> variations(const cublasLtMatmulAlgo_t& algo) {
  std::vector<cublasLtMatmulAlgo_t> result;
  const auto add = [&](auto change) {
    cublasLtMatmulAlgo_t changed = algo;
    if (change(changed)) result.push_back(changed);
  };
  const auto custom_max = capability<std::int32_t>(algo, CUBLASLT_ALGO_CAP_CUSTOM_OPTION_MAX);
  for (std::uint32_t custom = 0; custom <= static_cast<std::uint32_t>(std::clamp(custom_max, 0, 31));
       ++custom) {
    add([&](auto& x) { return set_config(x, CUBLASLT_ALGO_CONFIG_CUSTOM_OPTION, custom); });
  }
  const auto swizzle_max = capability<std::uint32_t>(algo, CUBLASLT_ALGO_CAP_CTA_SWIZZLING_SUPPORT);
  for (std::uint32_t swizzle = 0; swizzle <= std::min(swizzle_max, 8U); ++swizzle) {
    add([&](auto& x) { return set_config(x, CUBLASLT_ALGO_CONFIG_CTA_SWIZZLING, swizzle); });
  }
  for (const std::uint32_t stages : list_capability<std::uint32_t>(algo, CUBLASLT_ALGO_CAP_STAGES_IDS)) {
    add([&](auto& x) { return set_config(x, CUBLASLT_ALGO_CONFIG_STAGES_ID, stages); });
  }
  for (std::uint16_t cluster = CUBLASLT_CLUSTER_SHAPE_AUTO; cluster <= CUBLASLT_CLUSTER_SHAPE_4x2x1;
       ++cluster) {
    add([&](auto& x) { return set_config(x, CUBLASLT_ALGO_CONFIG_CLUSTER_SHAPE_ID, cluster); });
  }
  if (capability<std::int32_t>(algo, CUBLASLT_ALGO_CAP_SPLITK_SUPPORT) != 0) {
    const auto schemes = capability<std::uint32_t>(algo, CUBLASLT_ALGO_CAP_REDUCTION_SCHEME_MASK);
    add([&](auto& x) {
      return set_config(x, CUBLASLT_ALGO_CONFIG_SPLITK_NUM, std::int32_t{1}) &&
             set_config(x, CUBLASLT_ALGO_CONFIG_REDUCTION_SCHEME,
                        std::uint32_t{CUBLASLT_REDUCTION_SCHEME_NONE});
    });
    for (const std::int32_t split : {2, 3, 4, 5, 6, 7, 8, 11, 16}) {
      // Only reductions in the compute type: sums stay FP32.
      for (const std::uint32_t scheme : {std::uint32_t{CUBLASLT_REDUCTION_SCHEME_INPLACE},
                                         std::uint32_t{CUBLASLT_REDUCTION_SCHEME_COMPUTE_TYPE}}) {
        if ((schemes & scheme) == 0) continue;
        add([&](auto& x) {
          return set_config(x, CUBLASLT_ALGO_CONFIG_SPLITK_NUM, split) &&
                 set_config(x, CUBLASLT_ALGO_CONFIG_REDUCTION_SCHEME, scheme);
        });
      }
    }
  }
  return result;
}

void sort_by_time(std::vector<Candidate>& candidates) {
  std::stable_sort(candidates.begin(), candidates.end(),
                   [](const Candidate& x, const Candidate& y) { return x.time_ns < y.time_ns; });
}

std::vector<Candidate> heuristic_candidates(cublasLtHandle_t handle, const MatmulProblem& problem,
                                            const LtOperation& operation) {
  std::vector<Candidate> candidates;
  std::set<AlgoBytes> seen;
  const std::size_t full = problem.workspace_bytes;
  for (const std::size_t limit : {full, full / 2, full / 8, std::size_t{0}}) {
    for (const auto& answer : matmul_heuristics(handle, problem, operation, limit, 32)) {
      if (!seen.insert(bytes_of(answer.algo)).second) continue;
      candidates.push_back({answer.algo, answer.workspaceSize, kNever});
    }
  }
  return candidates;
}

// One quick measurement: slow ones are given up after a single run.
double quick_time(Trial& trial, const Candidate& candidate, int repeats, double best_ns) {
  if (trial.time(candidate, 1) == kNever) return kNever;  // also loads the kernel
  const double single_ns = trial.time(candidate, 1);
  if (single_ns > 1.25 * best_ns) return single_ns;
  return std::min(trial.time(candidate, repeats), trial.time(candidate, repeats));
}

// Adds to candidates: the tile grid of the best one, then settings of the best few varied one at a time,
// again and again from what that finds, until nothing new is among the best or the time is over.
void vary(cublasLtHandle_t handle, const MatmulProblem& problem, const LtOperation& operation, Trial& trial,
          int repeats, std::vector<Candidate>& candidates) {
  const Clock::time_point begin = Clock::now();
  std::set<AlgoBytes> seen;
  std::set<AlgoBytes> varied;
  for (const Candidate& candidate : candidates) seen.insert(bytes_of(candidate.algo));
  sort_by_time(candidates);
  double best_ns = candidates.front().time_ns;
  // False when the time is over.
  const auto try_all = [&](const std::vector<cublasLtMatmulAlgo_t>& algos) {
    for (const cublasLtMatmulAlgo_t& algo : algos) {
      if (!seen.insert(bytes_of(algo)).second) continue;
      Candidate candidate{algo, 0, kNever};
      if (operation.check(handle, algo, &candidate.workspace_bytes) != CUBLAS_STATUS_SUCCESS ||
          candidate.workspace_bytes > problem.workspace_bytes) {
        continue;
      }
      candidate.time_ns = quick_time(trial, candidate, repeats, best_ns);
      best_ns = std::min(best_ns, candidate.time_ns);
      candidates.push_back(std::move(candidate));
      if (std::chrono::duration<double>(Clock::now() - begin).count() > kVariationBudget_s) return false;
    }
    return true;
  };
  const cublasLtMatmulAlgo_t best = candidates.front().algo;
  if (!try_all(tile_grid(best))) return;
  for (int round = 0; round < 4; ++round) {
    sort_by_time(candidates);
    std::vector<cublasLtMatmulAlgo_t> seeds;
    for (std::size_t i = 0; i < std::min<std::size_t>(candidates.size(), 8); ++i) {
      if (candidates[i].time_ns < kNever && varied.insert(bytes_of(candidates[i].algo)).second) {
        seeds.push_back(candidates[i].algo);
      }
    }
    if (seeds.empty()) return;
    for (const cublasLtMatmulAlgo_t& seed : seeds) {
      if (!try_all(variations(seed))) return;
    }
  }
}

// The fastest of candidates, at most count, and the default if it is not among them.
std::vector<Candidate> best_and_default(std::vector<Candidate> candidates, const Candidate& default_choice,
                                        std::size_t count) {
  sort_by_time(candidates);
  std::erase_if(candidates, [](const Candidate& candidate) { return candidate.time_ns == kNever; });
  const auto is_default = [&](const Candidate& candidate) {
    return bytes_of(candidate.algo) == bytes_of(default_choice.algo);
  };
  if (candidates.size() > count) candidates.resize(count);
  if (std::none_of(candidates.begin(), candidates.end(), is_default)) candidates.push_back(default_choice);
  return candidates;
}

// Time of one run in ns over block_ms of nothing else, after lead_ms that are not counted.
double time_alone(Trial& trial, const Candidate& candidate, double lead_ms, double block_ms) {
  const double guess_ns = trial.time(candidate, 4);
  if (guess_ns == kNever) return kNever;
  trial.time(candidate, static_cast<int>(lead_ms * 1e6 / guess_ns) + 1);
  return trial.time(candidate, static_cast<int>(block_ms * 1e6 / guess_ns) + 1);
}

// Each alone and long, best first. A large GEMM runs into the GPU's power limit, and the clock then
// follows the energy that the algorithm needs: what is fastest in a short run need not be in a long one. The
// lead is the time that the clock takes to forget the run before.
std::vector<Candidate> decide_alone(Trial& trial, std::vector<Candidate> candidates,
                                    const Candidate& default_choice) {
  // At most two of the same tile, cluster and split: their energy differs little.
  sort_by_time(candidates);
  const double limit_ns = 1.2 * candidates.front().time_ns;
  std::map<std::tuple<std::uint32_t, std::uint16_t, std::int32_t>, int> alike;
  std::erase_if(candidates, [&](const Candidate& candidate) {
    const auto kind =
        std::make_tuple(get_config<std::uint32_t>(candidate.algo, CUBLASLT_ALGO_CONFIG_TILE_ID),
                        get_config<std::uint16_t>(candidate.algo, CUBLASLT_ALGO_CONFIG_CLUSTER_SHAPE_ID),
                        get_config<std::int32_t>(candidate.algo, CUBLASLT_ALGO_CONFIG_SPLITK_NUM));
    return candidate.time_ns > limit_ns || ++alike[kind] > 2;
  });
  std::vector<Candidate> finalists = best_and_default(std::move(candidates), default_choice, 12);
  for (Candidate& candidate : finalists) candidate.time_ns = time_alone(trial, candidate, 60.0, 60.0);
  finalists = best_and_default(std::move(finalists), default_choice, 3);
  std::vector<double> sums_ns(finalists.size());
  constexpr int kRounds = 2;
  for (int round = 0; round < kRounds; ++round) {
    for (std::size_t i = 0; i < finalists.size(); ++i)
      sums_ns[i] += time_alone(trial, finalists[i], 80.0, 120.0);
  }
  for (std::size_t i = 0; i < finalists.size(); ++i) finalists[i].time_ns = sums_ns[i] / kRounds;
  sort_by_time(finalists);
  return finalists;
}

}  // namespace

std::vector<cublasLtMatmulHeuristicResult_t> matmul_heuristics(cublasLtHandle_t handle,
                                                               const MatmulProblem& problem,
                                                               const LtOperation& operation,
                                                               std::size_t workspace_limit_bytes,
                                                               int requested) {
  cublasLtMatmulPreference_t preference = nullptr;
  RIDGELINE_CUBLAS_CHECK(cublasLtMatmulPreferenceCreate(&preference));
  struct Deleter {
    cublasLtMatmulPreference_t preference;
    ~Deleter() { cublasLtMatmulPreferenceDestroy(preference); }
  } const deleter{preference};
  const auto set = [&](cublasLtMatmulPreferenceAttributes_t attribute, const auto& value) {
    RIDGELINE_CUBLAS_CHECK(
        cublasLtMatmulPreferenceSetAttribute(preference, attribute, &value, sizeof(value)));
  };
  const auto limit = static_cast<std::uint64_t>(workspace_limit_bytes);
  set(CUBLASLT_MATMUL_PREF_MAX_WORKSPACE_BYTES, limit);
  set(CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_A_BYTES, problem.a_alignment_bytes);
  set(CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_B_BYTES, problem.b_alignment_bytes);
  set(CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_C_BYTES, problem.d_alignment_bytes);
  set(CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_D_BYTES, problem.d_alignment_bytes);
  // Partial sums never leave FP32.
  const std::uint32_t reductions = CUBLASLT_REDUCTION_SCHEME_INPLACE | CUBLASLT_REDUCTION_SCHEME_COMPUTE_TYPE;
  set(CUBLASLT_MATMUL_PREF_REDUCTION_SCHEME_MASK, reductions);

  std::vector<cublasLtMatmulHeuristicResult_t> results(static_cast<std::size_t>(requested));
  int found = 0;
  const cublasStatus_t status = cublasLtMatmulAlgoGetHeuristic(handle, operation.operation(), operation.a(),
                                                               operation.b(), operation.c(), operation.d(),
                                                               preference, requested, results.data(), &found);
  if (status != CUBLAS_STATUS_SUCCESS)
    found = 0;  // NOT_SUPPORTED and INVALID_VALUE: no algorithm for this problem
  results.resize(static_cast<std::size_t>(found));
  std::erase_if(results, [](const auto& result) { return result.state != CUBLAS_STATUS_SUCCESS; });
  return results;
}

MatmulSelection search_matmul(cublasLtHandle_t handle, const MatmulProblem& problem, LtOperation& operation,
                              void* workspace, cudaStream_t stream) {
  std::vector<Candidate> candidates = heuristic_candidates(handle, problem, operation);
  if (candidates.empty()) {
    throw LibraryError(problem.description(), "cuBLASLt has no algorithm for it", __FILE__, __LINE__);
  }
  MatmulSelection selection;
  selection.algo = candidates.front().algo;
  selection.workspace_bytes = candidates.front().workspace_bytes;
  const AlgoBytes default_bytes = bytes_of(selection.algo);

  RIDGELINE_CUDA_CHECK(cudaStreamSynchronize(stream));
  std::unique_ptr<Trial> trial;
  try {
    trial = std::make_unique<Trial>(handle, problem, operation, workspace, stream);
  } catch (const CudaError& error) {
    if (error.code() != cudaErrorMemoryAllocation) throw;
    cudaGetLastError();  // the failed allocation must not surface at the next launch check
    std::fprintf(stderr, "%s: no device memory for trial buffers, cuBLASLt's first answer is used\n",
                 problem.description().c_str());
    return selection;
  }

  const Candidate default_choice = candidates.front();
  trial->time(default_choice, 2);
  const double guess_ns = trial->time(default_choice, 3);
  if (guess_ns == kNever) {
    throw LibraryError(problem.description(), "cuBLASLt's first answer does not run", __FILE__, __LINE__);
  }
  const int repeats = static_cast<int>(std::clamp(1e6 / guess_ns, 1.0, 20.0));
  double best_ns = guess_ns;
  for (Candidate& candidate : candidates) {
    candidate.time_ns = quick_time(*trial, candidate, repeats, best_ns);
    best_ns = std::min(best_ns, candidate.time_ns);
  }
  vary(handle, problem, operation, *trial, repeats, candidates);
  selection.candidates = static_cast<int>(candidates.size());

  std::vector<Candidate> finalists = decide_alone(*trial, std::move(candidates), default_choice);
  for (const Candidate& candidate : finalists) {
    if (bytes_of(candidate.algo) == default_bytes) selection.default_time_ns = candidate.time_ns;
  }
  for (const Candidate& candidate : finalists) {
    const bool is_default = bytes_of(candidate.algo) == default_bytes;
    if (!is_default && !trial->same_result(candidate, default_choice)) {
      std::fprintf(stderr, "%s: algorithm %s differs from cuBLASLt's first answer, dropped\n",
                   problem.description().c_str(), describe_algorithm(candidate.algo).c_str());
      continue;
    }
    selection.algo = candidate.algo;
    selection.workspace_bytes = candidate.workspace_bytes;
    selection.time_ns = candidate.time_ns;
    break;
  }
  return selection;
}

std::string describe_algorithm(const cublasLtMatmulAlgo_t& algo) {
  std::ostringstream text;
  text << "id " << get_config<std::int32_t>(algo, CUBLASLT_ALGO_CONFIG_ID) << " tile "
       << get_config<std::uint32_t>(algo, CUBLASLT_ALGO_CONFIG_TILE_ID) << " stages "
       << get_config<std::uint32_t>(algo, CUBLASLT_ALGO_CONFIG_STAGES_ID) << " cluster "
       << get_config<std::uint16_t>(algo, CUBLASLT_ALGO_CONFIG_CLUSTER_SHAPE_ID) << " splitk "
       << get_config<std::int32_t>(algo, CUBLASLT_ALGO_CONFIG_SPLITK_NUM) << " reduction "
       << get_config<std::uint32_t>(algo, CUBLASLT_ALGO_CONFIG_REDUCTION_SCHEME) << " swizzle "
       << get_config<std::uint32_t>(algo, CUBLASLT_ALGO_CONFIG_CTA_SWIZZLING) << " custom "
       << get_config<std::uint32_t>(algo, CUBLASLT_ALGO_CONFIG_CUSTOM_OPTION);
  return text.str();
}

}  // namespace ridgeline::gpt2
