#include "gpt2/ops/optimizer/stochastic_rounding.h"

namespace ridgeline::gpt2 {

void stochastic_convert_cpu(bf16* out, const float* inp, std::int64_t n, std::uint64_t seed,
                            std::int64_t step, std::int64_t first_element) {
  for (std::int64_t i = 0; i < n; ++i) {
    out[i] = round_stochastically(inp[i], rounding_word(seed, step, first_element + i));
  }
}

}  // namespace ridgeline::gpt2
