// value_bytes.h: how many bytes a value of a type has in memory.
#pragma once

#include "ridgeline/analyzer/values/roof.h"

namespace ridgeline::analyzer {

/// 0 of Precision::any.
[[nodiscard]] constexpr double value_bytes(Precision precision) {
  switch (precision) {
    case Precision::fp64:
      return 8;
    case Precision::fp32:
    case Precision::tf32:
      return 4;
    case Precision::bf16:
    case Precision::fp16:
      return 2;
    case Precision::fp8:
    case Precision::int8:
      return 1;
    case Precision::any:
      break;
  }
  return 0;
}

}  // namespace ridgeline::analyzer
