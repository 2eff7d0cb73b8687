// draft.h: a launch while its values are found.
#pragma once

#include <cmath>
#include <optional>

#include "ridgeline/analyzer/utilisation/utilisation.h"

namespace ridgeline::analyzer {

struct Draft : LaunchVerdict, LaunchValues {
  std::int64_t duration_ns = 0;
  std::optional<double> duration_deviation_ns;
};

/// Of several the first counts.
inline void set_missing(TierUtilisation& tier, MissingReason missing, Absence why) {
  if (tier.missing != MissingReason::none) return;
  tier.missing = missing;
  tier.why = std::move(why);
}
inline void set_missing(TierUtilisation& tier, MissingReason missing, AbsenceCause cause) {
  set_missing(tier, missing, Absence{.cause = cause});
}

/// quantity ÷ (the launch's duration × peak), its error from the replay steps' and the timeline steps' spread. The
/// duration must not be 0.
[[nodiscard]] inline Measured ratio_of(const Measured& quantity, const Draft& launch, double peak_per_s) {
  const auto duration_ns = static_cast<double>(launch.duration_ns);
  const double peak_per_ns = peak_per_s / 1e9;
  Measured ratio;
  ratio.value = quantity.value / duration_ns / peak_per_ns;
  ratio.sample_count = quantity.sample_count;
  ratio.tier = quantity.tier;
  if (quantity.error) {
    const double from_duration = ratio.value * launch.duration_deviation_ns.value_or(0) / duration_ns;
    ratio.error = std::hypot(*quantity.error / duration_ns / peak_per_ns, from_duration);
  }
  return ratio;
}
[[nodiscard]] inline Measured ratio_of(const Measured& quantity, const Draft& launch, const Peak& peak) {
  return ratio_of(quantity, launch, peak.value);
}

}  // namespace ridgeline::analyzer
