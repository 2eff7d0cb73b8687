/// kept_tracing.h: what goes on to be taken of each launch once kernels were traced. Measured by launch/tracing_cost.h,
/// taken off by the import.
#pragma once

namespace ridgeline {

/// What stays of what tracing a launch costs, over what goes when it is off: 1 is half of the cost.
struct KeptTracing {
  double share = 0;
  double error = 0;  ///< half of its 95 % interval
};

}  // namespace ridgeline
