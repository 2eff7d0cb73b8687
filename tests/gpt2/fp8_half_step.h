// fp8_half_step.h: how far a value may be off that was rounded to FP8.
#pragma once

#include <algorithm>
#include <cmath>

#include "gpt2/ops/fp8/fp8.h"

namespace ridgeline::gpt2 {

/// Half the distance between the values of the format around `value`.
inline double fp8_half_step(double value, Fp8Format format) {
  const int fraction_bits = format == Fp8Format::e4m3 ? 3 : 2;
  const int min_exponent = format == Fp8Format::e4m3 ? -6 : -14;
  int exponent = min_exponent;
  // A value is a fraction of 1/2 to 1 times 2^exponent.
  if (value != 0.0) std::frexp(value, &exponent);
  return std::ldexp(0.5, std::max(exponent - 1, min_exponent) - fraction_bits);
}

}  // namespace ridgeline::gpt2
