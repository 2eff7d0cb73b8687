#include "gpt2/train/machine/memory_fit.h"

#include <fmt/format.h>

#include <algorithm>

namespace ridgeline::gpt2 {

int largest_batch(const std::function<std::int64_t(int batch)>& needed_bytes, std::int64_t available_bytes,
                  int largest) {
  int fits = 0, too_large = largest + 1;
  while (too_large - fits > 1) {
    const int middle = fits + (too_large - fits) / 2;
    if (needed_bytes(middle) <= available_bytes) {
      fits = middle;
    } else {
      too_large = middle;
    }
  }
  return fits;
}

std::string batch_advice(int batch, int grad_accum, int fitting, int ranks) {
  if (fitting < 1) return {};
  const std::int64_t sequences = static_cast<std::int64_t>(batch) * grad_accum;
  std::int64_t divisor = std::min<std::int64_t>(fitting, sequences);
  while (sequences % divisor != 0) --divisor;
  std::string advice = fmt::format("-B {} --grad-accum {} fits and keeps the step's tokens", divisor * ranks,
                                   sequences / divisor);
  if (divisor != fitting) advice += fmt::format(" (-B {} is the largest that fits)", fitting * ranks);
  return advice;
}

}  // namespace ridgeline::gpt2
