// stochastic_rounding.cu: out[i] = inp[i] rounded up or down at random
// shapes  out [n] bf16, inp [n] FP32; any n (tail guarded)
// bytes   6*n
// flops   0 (integer work: 10 rounds of Philox for four elements)
// check   exact
// bound   DRAM
#include "gpt2/common/launch.h"
#include "gpt2/common/nvtx.h"
#include "gpt2/ops/stochastic_rounding.h"

namespace ridgeline::gpt2 {

void stochastic_convert_cpu(bf16* out, const float* inp, std::int64_t n, std::uint64_t seed,
                            std::int64_t step, std::int64_t first_element) {
  for (std::int64_t i = 0; i < n; ++i) {
    out[i] = round_stochastically(inp[i], rounding_word(seed, step, first_element + i));
  }
}

namespace {

constexpr int kBlock = 256;

__global__ void __launch_bounds__(kBlock)
    stochastic_convert_kernel(bf16* out, const float* inp, std::int64_t n, std::uint64_t seed,
                              std::int64_t step) {
  const std::int64_t group = static_cast<std::int64_t>(blockIdx.x) * kBlock + threadIdx.x;
  const std::int64_t first = group * kRoundingGroup;
  if (first >= n) return;
  const PhiloxBlock words = rounding_words(seed, step, group);
#pragma unroll
  for (int k = 0; k < kRoundingGroup; ++k) {
    if (first + k < n) out[first + k] = round_stochastically(inp[first + k], words.word[k]);
  }
}

}  // namespace

void launch_stochastic_convert(bf16* out, const float* inp, std::int64_t n, std::uint64_t seed,
                               std::int64_t step, cudaStream_t stream) {
  const NvtxRange range("stochastic_convert", {stochastic_convert_bytes(n), 0});
  if (n <= 0) return;
  const auto blocks = static_cast<unsigned>(ceil_div(ceil_div(n, kRoundingGroup), kBlock));
  stochastic_convert_kernel<<<blocks, kBlock, 0, stream>>>(out, inp, n, seed, step);
  RIDGELINE_CUDA_CHECK_LAUNCH();
}

}  // namespace ridgeline::gpt2
