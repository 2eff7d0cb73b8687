// bound.h: what bounds a launch.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

#include "ridgeline/analyzer/utilisation/utilisation.h"

namespace ridgeline::analyzer {

/// What a launch is bound by, in a word. Not the same as its nearest roof: a kernel at 37 % of every roof has a nearest
/// one, and is bound by none. Which roof it is of those that bound_by() puts under one word says bounding_roof().
enum class KernelBound {
  memory,     ///< DRAM or L2 is the roof it is nearest to, at BoundOptions::min_ratio or more
  compute,    ///< likewise a pipe or the issue slots
  latency,    ///< measured, and no roof is near
  too_short,  ///< shorter than the launch floor
  no_roof,    ///< neither roof applies: communication, or no work to speak of
  unmeasured,
};
[[nodiscard]] std::string_view to_string(KernelBound bound);  // "memory", …, "launch_bound", "no_roof"

struct BoundOptions {
  double min_ratio = 0.60;  ///< of a roof: below, the roof does not bound the kernel
  double tie_ratio = 0.03;  ///< roofs no farther apart than this are equally near
};

/// memory or compute.
[[nodiscard]] KernelBound bound_by(Roof roof);
[[nodiscard]] KernelBound bound_of(const LaunchVerdict& launch, const BoundOptions& options = {});
/// The roof that bounds a memory-bound or compute-bound launch; empty for others.
[[nodiscard]] std::optional<Roof> bounding_roof(const LaunchVerdict& launch,
                                                const BoundOptions& options = {});

/// Time by bound, ns.
struct BoundSplit {
  std::int64_t memory_ns = 0;
  std::int64_t compute_ns = 0;
  std::int64_t latency_ns = 0;
  std::int64_t too_short_ns = 0;
  std::int64_t no_roof_ns = 0;
  std::int64_t unmeasured_ns = 0;
  [[nodiscard]] std::int64_t total_ns() const;
  void add(KernelBound bound, std::int64_t ns);
  void add(const BoundSplit& other);
};

}  // namespace ridgeline::analyzer
