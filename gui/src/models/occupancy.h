// occupancy.h: how many warps of a kernel an SM can hold, and what keeps it from holding more.
#pragma once

#include <optional>
#include <string>

#include "ridgeline/store/records.h"

namespace ridgeline::gui {

struct Occupancy {
  int warps = 0;       ///< resident warps of an SM
  int most_warps = 0;  ///< that it can hold
  int blocks = 0;
  std::string limiter;  ///< "registers", "shared memory", "blocks", "warps"
  [[nodiscard]] double ratio() const { return most_warps > 0 ? static_cast<double>(warps) / most_warps : 0; }
};

/// From the launch's block, registers and shared memory and the limits of the compute capability ("9.0": CUDA C++
/// Programming Guide, table of technical specifications). Empty: the capability is not known here, or the launch
/// does not fit an SM by these limits.
[[nodiscard]] std::optional<Occupancy> theoretical_occupancy(const store::Launch& launch,
                                                             const std::string& compute_capability);

}  // namespace ridgeline::gui
