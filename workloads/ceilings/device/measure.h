// measure.h: all benchmarks of a run, in order: what is cool first, bursts before loads.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "ceilings/core/machine_file.h"
#include "ceilings/core/plan.h"

namespace ridgeline::ceilings {

/// Faults that the checks of a GPU plant, to see them found.
struct Plants {
  bool half_operations = false;  // half of the operations are counted
  bool l2_resident = false;      // "device memory" that fits into L2
};

struct Request {
  Plan plan;
  std::vector<std::string> only;  // names or levels; empty: all
  int device = 0;                 // CUDA's number
  double seconds = 0;             // what has not begun by then is left out; 0: all is measured
  Plants plants;
  std::function<void(const std::string&)> tell;  // a line of progress
};

/// Throws std::runtime_error: no such device, a CUDA or library call failed.
[[nodiscard]] Findings measure(const Request& request);

/// Runs each benchmark in `steps` NVTX ranges called "step", within ranges called as their roofs that declare
/// their bytes of device memory and operations: for a recording to count. Nothing is timed.
void run_declared(const Request& request, int steps);

/// Multiply-adds on every SM for so many seconds: the neighbour that a check plants.
void run_load(int device, double seconds);

}  // namespace ridgeline::ceilings
