#include "ridgeline/analyzer/utilisation/bound.h"

namespace ridgeline::analyzer {

std::string_view to_string(KernelBound bound) {
  switch (bound) {
    case KernelBound::memory:
      return "memory";
    case KernelBound::compute:
      return "compute";
    case KernelBound::latency:
      return "latency";
    case KernelBound::too_short:
      return "launch_bound";
    case KernelBound::no_roof:
      return "no_roof";
    case KernelBound::unmeasured:
      return "unmeasured";
  }
  return "unmeasured";
}

std::optional<Roof> bounding_roof(const LaunchVerdict& launch, const BoundOptions& options) {
  if (launch.status != LaunchStatus::measured) return std::nullopt;
  std::optional<Roof> nearest;
  double most = options.min_ratio;
  for (const Roof roof : kRoofs) {
    // As doubles: exactly at the threshold is near enough.
    std::optional<double> ratio = launch.values->roofs.of(roof);
    if (roof == Roof::kDram && launch.values->dram_utilisation)
      ratio = launch.values->dram_utilisation->value;
    if (roof == launch.values->busiest_pipe && launch.values->compute_utilisation)
      ratio = launch.values->compute_utilisation->value;
    if (!ratio || *ratio < most || (nearest && *ratio == most)) continue;
    nearest = roof;
    most = *ratio;
  }
  return nearest;
}

KernelBound bound_by(Roof roof) {
  return roof.level == RoofLevel::dram || roof.level == RoofLevel::l2 ? KernelBound::memory
                                                                      : KernelBound::compute;
}

KernelBound bound_of(const LaunchVerdict& launch, const BoundOptions& options) {
  switch (launch.status) {
    case LaunchStatus::too_short:
      return KernelBound::too_short;
    case LaunchStatus::no_roof:
      return KernelBound::no_roof;
    case LaunchStatus::unmeasured:
      return KernelBound::unmeasured;
    case LaunchStatus::measured:
      break;
  }
  const std::optional<Roof> roof = bounding_roof(launch, options);
  return roof ? bound_by(*roof) : KernelBound::latency;
}

std::int64_t BoundSplit::total_ns() const {
  return memory_ns + compute_ns + latency_ns + too_short_ns + no_roof_ns + unmeasured_ns;
}

void BoundSplit::add(const BoundSplit& other) {
  memory_ns += other.memory_ns;
  compute_ns += other.compute_ns;
  latency_ns += other.latency_ns;
  too_short_ns += other.too_short_ns;
  no_roof_ns += other.no_roof_ns;
  unmeasured_ns += other.unmeasured_ns;
}

void BoundSplit::add(KernelBound bound, std::int64_t ns) {
  switch (bound) {
    case KernelBound::memory:
      memory_ns += ns;
      break;
    case KernelBound::compute:
      compute_ns += ns;
      break;
    case KernelBound::latency:
      latency_ns += ns;
      break;
    case KernelBound::too_short:
      too_short_ns += ns;
      break;
    case KernelBound::no_roof:
      no_roof_ns += ns;
      break;
    case KernelBound::unmeasured:
      unmeasured_ns += ns;
      break;
  }
}

}  // namespace ridgeline::analyzer
