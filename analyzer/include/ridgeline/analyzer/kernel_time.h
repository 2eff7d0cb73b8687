// kernel_time.h: what bounds the kernels of a step, and in which part of the program their time goes.
//
// Time is exposed time: of launches that run at once each has an equal part, so that every sum here adds up to
// Accounting::kernel_busy_ns.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "ridgeline/analyzer/utilisation.h"

namespace ridgeline::analyzer {

/// What a launch is bound by. Not the same as its nearest roof: a kernel at 37 % of every roof has a nearest
/// one, and is bound by none.
enum class KernelBound {
  memory,        ///< DRAM or L2 is the roof it is nearest to, at BoundOptions::least_ratio or more
  compute,       ///< likewise a pipe or the issue slots
  latency,       ///< measured, and no roof is near
  launch_bound,  ///< shorter than the launch floor
  no_roof,       ///< neither roof applies: communication, or no work to speak of
  unmeasured,
};
[[nodiscard]] std::string_view to_string(KernelBound bound);  // "memory", …, "launch_bound", "no_roof"

struct BoundOptions {
  double least_ratio = 0.60;  ///< of a roof: below, the roof does not bound the kernel
  double tie_ratio = 0.03;    ///< roofs no farther apart than this are equally near
};

[[nodiscard]] KernelBound bound_of(const LaunchVerdict& launch, const BoundOptions& options = {});
/// The roof that bounds a memory-bound or compute-bound launch; empty for others.
[[nodiscard]] std::optional<Roof> bounding_roof(const LaunchVerdict& launch,
                                                const BoundOptions& options = {});

/// Parts of an NVTX path ("step / forward / layer 3 / attention"): the range below the outermost ("forward") and
/// the first whose name ends in a number ("layer 3"); "(no range)" without one. The result may refer to `path`.
[[nodiscard]] std::string_view phase_of(std::string_view path);
[[nodiscard]] std::string_view layer_of(std::string_view path);

/// Time by bound, ns.
struct BoundSplit {
  std::int64_t memory_ns = 0;
  std::int64_t compute_ns = 0;
  std::int64_t latency_ns = 0;
  std::int64_t launch_bound_ns = 0;
  std::int64_t no_roof_ns = 0;
  std::int64_t unmeasured_ns = 0;
  [[nodiscard]] std::int64_t total_ns() const;
  void add(KernelBound bound, std::int64_t ns);
  void add(const BoundSplit& other);
};

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
