// per_cycle.h: what a multiprocessor does in a cycle at most.
#pragma once

#include <string_view>

namespace ridgeline::ceilings {

/// Dense operations (a multiply-add is two) of a precision ("bf16", "fp32", "fp64_tensor", "int8"), by NVIDIA's
/// architecture white papers. 0: the unit is absent, or the architecture ("9.0") is not known.
[[nodiscard]] double operations_per_cycle(std::string_view compute_capability, std::string_view precision);

/// Bytes that loads take from the L1 cache or from shared memory.
inline constexpr double kL1BytesPerCycle = 128;

}  // namespace ridgeline::ceilings
