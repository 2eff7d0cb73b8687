// adamw.cu: one AdamW update of every parameter, in one launch or one per tensor
// shapes  params [n] T; master,m,v,grads [n] FP32; any n (tail guarded)
// bytes   n*(7*4 + 2) for bf16, n*7*4 for float: grad, m, v, master read; m, v, master, T copy written
// flops   15*n
// check   |gpu-ref| <= 1e-5*(|ref| + lr); a non-finite mismatch fails
// bound   DRAM
#include <cmath>
#include <stdexcept>
#include <string>

#include "gpt2/common/dtype.h"
#include "gpt2/common/launch.h"
#include "gpt2/common/nvtx.h"
#include "gpt2/common/packed.cuh"
#include "gpt2/ops/optimizer/adamw.h"
#include "gpt2/ops/optimizer/stochastic_rounding.h"

namespace ridgeline::gpt2 {

template <typename Real>
void adamw_cpu(Real* params, Real* m, Real* v, const Real* grads, Real clip_scale, std::int64_t n,
               std::span<const WeightDecayRange> ranges, const AdamwConfig& config) {
  const Real beta1 = config.beta1;
  const Real beta2 = config.beta2;
  const Real correction1 = Real(1) - std::pow(beta1, static_cast<Real>(config.step));
  const Real correction2 = Real(1) - std::pow(beta2, static_cast<Real>(config.step));
  for (std::int64_t i = 0; i < n; ++i) {
    Real decay{0};
    for (const WeightDecayRange& range : ranges) {
      if (i >= range.begin && i < range.end) decay = range.weight_decay;
    }
    const Real g = grads[i] * clip_scale;
    m[i] = beta1 * m[i] + (Real(1) - beta1) * g;
    v[i] = beta2 * v[i] + (Real(1) - beta2) * g * g;
    const Real update = (m[i] / correction1) / (std::sqrt(v[i] / correction2) + Real(config.epsilon));
    params[i] -= Real(config.learning_rate) * (update + decay * params[i]);
  }
}

AdamwStepFactors adamw_step_factors(const AdamwConfig& config) {
  if (config.step < 1) throw std::invalid_argument("launch_adamw: step counts from 1");
  const auto step = static_cast<double>(config.step);
  const double correction1 = 1.0 - std::pow(static_cast<double>(config.beta1), step);
  const double correction2 = 1.0 - std::pow(static_cast<double>(config.beta2), step);
  return {config.learning_rate, static_cast<float>(1.0 / correction1), static_cast<float>(1.0 / correction2),
          config.step};
}

namespace {

constexpr int kBlock = 256;
constexpr int kWidth = 4;  // elements per thread: 16-byte accesses of the FP32 arrays

struct DecayTable {
  std::int64_t begin[kMaxWeightDecayRanges];
  std::int64_t end[kMaxWeightDecayRanges];
  float decay[kMaxWeightDecayRanges];
  int count;
};

struct UpdateFactors {
  AdamwStepFactors step;
  float beta1;
  float one_minus_beta1;
  float beta2;
  float one_minus_beta2;
  float epsilon;
};

__device__ inline float decay_of(const DecayTable& table, std::int64_t i) {
  float decay = 0.0F;
  for (int r = 0; r < table.count; ++r) {
    if (i >= table.begin[r] && i < table.end[r]) decay = table.decay[r];
  }
  return decay;
}

// Fused multiply-adds by name: left to the compiler, the kernels below could contract differently and the
// last bit would depend on the width.
__device__ inline void update_one(float& p, float& m, float& v, float g, float decay, const UpdateFactors& f,
                                  const AdamwStepFactors& s) {
  m = fmaf(f.one_minus_beta1, g, f.beta1 * m);
  v = fmaf(f.one_minus_beta2 * g, g, f.beta2 * v);
  const float update = m * s.inverse_correction1 / (sqrtf(v * s.inverse_correction2) + f.epsilon);
  p = fmaf(-s.learning_rate, fmaf(decay, p, update), p);
}

// Where the rounding's random bits come from.
struct RoundingSource {
  std::uint64_t seed;
  std::int64_t first_element;
};

template <bool kStochastic>
__device__ inline void store_copy(float*, std::int64_t, const float (&)[kWidth], const RoundingSource&,
                                  std::int64_t) {}
template <bool kStochastic>
__device__ inline void store_copy(bf16* params, std::int64_t i, const float (&p)[kWidth],
                                  const RoundingSource& source, std::int64_t step) {
  struct alignas(8) Four {
    bf16 values[kWidth];
  } four;
  if constexpr (kStochastic) {
    static_assert(kWidth == kRoundingGroup);
    const PhiloxBlock words = rounding_words(source.seed, step, (source.first_element + i) / kRoundingGroup);
#pragma unroll
    for (int k = 0; k < kWidth; ++k) four.values[k] = round_stochastically(p[k], words.word[k]);
  } else {
#pragma unroll
    for (int k = 0; k < kWidth; ++k) four.values[k] = from_float<bf16>(p[k]);
  }
  *reinterpret_cast<Four*>(params + i) = four;
}

// kWide: pointers are 16-byte aligned, range boundaries and the first element multiples of kWidth, so that one
// table look-up and one draw of random bits serve four elements. The last n % kWidth elements go one by one.
template <typename T, bool kWide, bool kStochastic>
__global__ void __launch_bounds__(kBlock)
    adamw_kernel(T* params, float* master, float* m, float* v, const float* grads, const GradientNorm* norm,
                 std::int64_t n, const __grid_constant__ DecayTable table,
                 const __grid_constant__ UpdateFactors factors, const AdamwStepFactors* step_factors,
                 const RoundingSource source) {
  float clip_scale = 1.0F;
  if (norm != nullptr) {
    if (norm->finite == 0) return;
    clip_scale = norm->clip_scale;
  }
  const std::int64_t thread = static_cast<std::int64_t>(blockIdx.x) * kBlock + threadIdx.x;
  const std::int64_t first = kWide ? thread * kWidth : thread;
  if (first >= n) return;
  const AdamwStepFactors step = step_factors != nullptr ? *step_factors : factors.step;
  if (kWide && first + kWidth <= n) {
    // Read and written once: but asking the caches to evict them first costs 7 % of the bandwidth.
    const float4 g4 = *reinterpret_cast<const float4*>(grads + first);
    const float4 m4 = *reinterpret_cast<const float4*>(m + first);
    const float4 v4 = *reinterpret_cast<const float4*>(v + first);
    const float4 p4 = *reinterpret_cast<const float4*>(master + first);
    const float decay = decay_of(table, first);
    const float g[kWidth] = {g4.x, g4.y, g4.z, g4.w};
    float mm[kWidth] = {m4.x, m4.y, m4.z, m4.w};
    float vv[kWidth] = {v4.x, v4.y, v4.z, v4.w};
    float p[kWidth] = {p4.x, p4.y, p4.z, p4.w};
#pragma unroll
    for (int k = 0; k < kWidth; ++k) update_one(p[k], mm[k], vv[k], g[k] * clip_scale, decay, factors, step);
    *reinterpret_cast<float4*>(m + first) = make_float4(mm[0], mm[1], mm[2], mm[3]);
    *reinterpret_cast<float4*>(v + first) = make_float4(vv[0], vv[1], vv[2], vv[3]);
    *reinterpret_cast<float4*>(master + first) = make_float4(p[0], p[1], p[2], p[3]);
    store_copy<kStochastic>(params, first, p, source, step.step);
    return;
  }
  const std::int64_t last = kWide ? n : first + 1;
  for (std::int64_t i = first; i < last; ++i) {
    float p = master[i];
    float mi = m[i];
    float vi = v[i];
    update_one(p, mi, vi, grads[i] * clip_scale, decay_of(table, i), factors, step);
    m[i] = mi;
    v[i] = vi;
    master[i] = p;
    if constexpr (kStochastic) {
      params[i] = round_stochastically(p, rounding_word(source.seed, step.step, source.first_element + i));
    } else if constexpr (!std::is_same_v<T, float>) {
      params[i] = from_float<T>(p);
    }
  }
}

}  // namespace

template <typename T>
void launch_adamw(T* params, float* master, float* m, float* v, const float* grads, const GradientNorm* norm,
                  std::int64_t n, std::span<const WeightDecayRange> ranges, const AdamwConfig& config,
                  cudaStream_t stream, const AdamwStepFactors* step_factors, const AdamwVariant& variant) {
  const NvtxRange nvtx("adamw", {adamw_bytes<T>(n), adamw_flops(n)});
  if (ranges.size() > kMaxWeightDecayRanges) {
    throw std::invalid_argument("launch_adamw: " + std::to_string(ranges.size()) +
                                " weight decay ranges; at most " + std::to_string(kMaxWeightDecayRanges) +
                                ", merge neighbours");
  }
  if constexpr (std::is_same_v<T, float>) {
    if (master != nullptr && master != params) {
      throw std::invalid_argument("launch_adamw: FP32 parameters are their own master; pass null or params");
    }
    if (variant.rounding.enabled) {
      throw std::invalid_argument(
          "launch_adamw: FP32 parameters are not rounded, so not stochastically either");
    }
    master = params;
  } else if (master == nullptr) {
    throw std::invalid_argument("launch_adamw: bf16 parameters need an FP32 master copy");
  }
  const UpdateFactors factors{adamw_step_factors(config), config.beta1,  1.0F - config.beta1, config.beta2,
                              1.0F - config.beta2,        config.epsilon};

  bool wide = variant.width == KernelWidth::packed && variant.first_element % kWidth == 0 &&
              is_aligned_16(params) && is_aligned_16(master) && is_aligned_16(m) && is_aligned_16(v) &&
              is_aligned_16(grads);
  DecayTable table{};
  for (const WeightDecayRange& range : ranges) {
    if (range.begin < 0 || range.end < range.begin || range.end > n) {
      throw std::invalid_argument("launch_adamw: weight decay range [" + std::to_string(range.begin) + ", " +
                                  std::to_string(range.end) + ") is not within [0, " + std::to_string(n) +
                                  ")");
    }
    table.begin[table.count] = range.begin;
    table.end[table.count] = range.end;
    table.decay[table.count] = range.weight_decay;
    ++table.count;
    if (range.begin % kWidth != 0 || (range.end % kWidth != 0 && range.end != n)) wide = false;
  }
  if (n <= 0) return;

  const auto blocks = static_cast<unsigned>(ceil_div(wide ? ceil_div(n, kWidth) : n, kBlock));
  const RoundingSource source{variant.rounding.seed, variant.first_element};
  const auto run = [&](auto* kernel) {
    kernel<<<blocks, kBlock, 0, stream>>>(params, master, m, v, grads, norm, n, table, factors, step_factors,
                                          source);
  };
  if (!variant.rounding.enabled) {
    run(wide ? adamw_kernel<T, true, false> : adamw_kernel<T, false, false>);
  } else if constexpr (!std::is_same_v<T, float>) {
    run(wide ? adamw_kernel<T, true, true> : adamw_kernel<T, false, true>);
  }
  RIDGELINE_CUDA_CHECK_LAUNCH();
}

template <typename T>
void launch_adamw_per_tensor(T* params, float* master, float* m, float* v, const float* grads,
                             const GradientNorm* norm, std::span<const WeightDecayRange> tensors,
                             const AdamwConfig& config, cudaStream_t stream,
                             const AdamwStepFactors* step_factors, const StochasticRounding& rounding) {
  for (const WeightDecayRange& tensor : tensors) {
    const std::int64_t begin = tensor.begin;
    const std::int64_t count = tensor.end - begin;
    if (begin < 0 || count < 0) {
      throw std::invalid_argument("launch_adamw_per_tensor: tensor [" + std::to_string(begin) + ", " +
                                  std::to_string(tensor.end) + ") is no range");
    }
    const WeightDecayRange whole{0, count, tensor.weight_decay};
    launch_adamw<T>(params + begin, master != nullptr ? master + begin : nullptr, m + begin, v + begin,
                    grads + begin, norm, count, {&whole, 1}, config, stream, step_factors,
                    {KernelWidth::scalar, rounding, begin});
  }
}

template void adamw_cpu(float*, float*, float*, const float*, float, std::int64_t,
                        std::span<const WeightDecayRange>, const AdamwConfig&);
template void adamw_cpu(double*, double*, double*, const double*, double, std::int64_t,
                        std::span<const WeightDecayRange>, const AdamwConfig&);
#define RIDGELINE_INSTANTIATE(T)                                                                             \
  template void launch_adamw<T>(T*, float*, float*, float*, const float*, const GradientNorm*, std::int64_t, \
                                std::span<const WeightDecayRange>, const AdamwConfig&, cudaStream_t,         \
                                const AdamwStepFactors*, const AdamwVariant&);                               \
  template void launch_adamw_per_tensor<T>(                                                                  \
      T*, float*, float*, float*, const float*, const GradientNorm*, std::span<const WeightDecayRange>,      \
      const AdamwConfig&, cudaStream_t, const AdamwStepFactors*, const StochasticRounding&);
RIDGELINE_INSTANTIATE(float)
RIDGELINE_INSTANTIATE(bf16)
#undef RIDGELINE_INSTANTIATE

}  // namespace ridgeline::gpt2
