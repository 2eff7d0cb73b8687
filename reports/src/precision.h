// precision.h: the type of a peak of operations, cut out of its quantity.
#pragma once

#include <algorithm>
#include <string>
#include <string_view>

namespace ridgeline::reports {

/// "bf16_flops_per_s" -> "bf16", "int8_ops_per_s" -> "int8"; what is no rate of operations stays as it is.
[[nodiscard]] inline std::string precision_of(std::string_view quantity) {
  return std::string(
      quantity.substr(0, std::min(quantity.rfind("_flops_per_s"), quantity.rfind("_ops_per_s"))));
}

}  // namespace ridgeline::reports
