// precision.h: the type of a peak of operations, cut out of its quantity.
#pragma once

#include <algorithm>
#include <string>
#include <string_view>

#include "ridgeline/base/vocabulary.h"

namespace ridgeline::reports {

/// "bf16" of bf16_flops_per_s, "int8" of int8_ops_per_s; what is no rate of operations stays as it is.
[[nodiscard]] inline std::string precision_of(Quantity quantity) {
  const std::string_view word = to_string(quantity);
  return std::string(word.substr(0, std::min(word.rfind("_flops_per_s"), word.rfind("_ops_per_s"))));
}

}  // namespace ridgeline::reports
