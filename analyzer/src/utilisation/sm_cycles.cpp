#include "sm_cycles.h"

#include <algorithm>
#include <cmath>

#include "ridgeline/base/statistics.h"

namespace ridgeline::analyzer {

namespace {

// Peaks a cycle that are no power of two (a chip may have such a unit) must not pass for one.
constexpr double kPowerOfTwo = 0.2;

std::optional<double> by_active_cycles(const TierRow& row) {
  const auto active = row.value("sm__cycles_active.avg");
  const auto percent = row.value("sm__cycles_active.avg.pct_of_peak_sustained_elapsed");
  if (!active || percent.value_or(0) <= 0) return std::nullopt;
  return *active / (*percent / 100.0);
}

// Rate = SMs × peak of one a cycle × clock. The GPC clock is near enough to tell one power of two from the next.
std::optional<double> by_peak_rate(const TierRow& row, const store::Device& device, double gpc_cycles,
                                   double duration_ns) {
  constexpr std::string_view kSuffix = ".sum.peak_sustained_elapsed.per_second";
  if (device.sm_count.value_or(0) <= 0) return std::nullopt;
  std::vector<double> found;
  for (const auto& [name, value] : row.values) {
    if (!name.ends_with(kSuffix) || !(name.starts_with("sm__") || name.starts_with("l1tex__"))) continue;
    if (!(value.value > 0)) continue;
    const double each_ns = value.value / *device.sm_count * 1e-9;
    const double power = std::log2(each_ns * duration_ns / gpc_cycles);
    if (std::fabs(power - std::round(power)) > kPowerOfTwo) continue;
    found.push_back(each_ns * duration_ns / std::exp2(std::round(power)));
  }
  if (found.empty()) return std::nullopt;
  return mean(found);
}

}  // namespace

StepCycles cycles_of(const TierRow& row, const store::Device* device) {
  StepCycles out;
  out.gpc = row.value(metric_name::kCycles);
  if (out.gpc && *out.gpc <= 0) out.gpc.reset();
  out.sm = row.value("sm__cycles_elapsed.avg");
  if (!out.sm) out.sm = by_active_cycles(row);
  const auto duration = row.duration_ns();
  if (!duration || device == nullptr) return out;
  // Only of a range that is the kernel's are they in proportion to its time.
  if (!out.sm && out.gpc && row.find(metric_name::kDuration) != nullptr)
    out.sm = by_peak_rate(row, *device, *out.gpc, *duration);
  // The cycle counter of a very short launch includes the time around it; no clock is above the device's.
  if (device->max_sm_clock_hz.value_or(0) > 0) {
    const double most = static_cast<double>(*device->max_sm_clock_hz) * *duration * 1e-9;
    if (out.gpc) out.gpc = std::min(*out.gpc, most);
    if (out.sm) out.sm = std::min(*out.sm, most);
  }
  return out;
}

Normalisation normalisation_of(const std::vector<StepCycles>& steps) {
  std::vector<double> ratios;
  for (const StepCycles& step : steps) {
    if (step.sm && step.gpc) ratios.push_back(*step.sm / *step.gpc);
  }
  Normalisation out;
  if (ratios.empty()) return out;
  out.ratio = mean(ratios);
  out.deviation = standard_deviation(ratios).value_or(0);
  out.known = true;
  return out;
}

}  // namespace ridgeline::analyzer
