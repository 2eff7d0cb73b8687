// kernel_time.h: what bounds the kernels of a step, and in which part of the program their time goes.
//
// Time is exposed time: of launches that run at once each has an equal part, so that every sum here adds up to
// Accounting::kernel_busy_ns.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "ridgeline/analyzer/utilisation/bound.h"

namespace ridgeline::analyzer {

/// A part of the program: a range of the NVTX tree with all it holds, or ranges that are alike.
struct TimePart {
  std::string name;                   ///< "layer 3"; "(no range)" for launches outside all
  std::string path;                   ///< "step / forward / layer 3"; "" if several ranges are taken together
  std::optional<std::size_t> parent;  ///< into the same vector; empty: a root
  int depth = 0;
  std::int64_t launches = 0;
  BoundSplit time;
};

/// The kernels of a scope on one device.
struct KernelTime {
  BoundSplit total;             ///< of the scope's own launches
  std::int64_t foreign_ns = 0;  ///< of launches that are not of the scope but ran in its time
  std::vector<TimePart> tree;   ///< parents before their children, in order of first launch
  /// Cuts through the tree; each adds up to `total`. Most time first; launches outside any such range are
  /// "(no range)".
  std::vector<TimePart> by_phase;      ///< by the child of the root: forward, backward, optimizer
  std::vector<TimePart> by_layer;      ///< by the first range whose name ends in a number
  std::vector<TimePart> by_operation;  ///< by the innermost range's name, whatever its layer
};

}  // namespace ridgeline::analyzer
