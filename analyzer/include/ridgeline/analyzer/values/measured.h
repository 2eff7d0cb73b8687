// measured.h: a value with what it rests on.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "ridgeline/base/tier_set.h"

namespace ridgeline::analyzer {

/// A value with what it rests on.
struct Measured {
  double value = 0;
  std::optional<double> error;    // standard error, same unit; empty: one sample, unknown
  std::int64_t sample_count = 0;  // T2, T3: steps it is the mean of; T1: samples it is based on
  TierSet tier;                   // T0 for durations
};

/// T1 − T2 with both errors; unknown if one is. It rests on both tiers.
[[nodiscard]] Measured tier_difference(const Measured& t1, const Measured& t2);

/// Mean and its standard error; empty for an empty sample.
[[nodiscard]] std::optional<Measured> measured_mean(const std::vector<double>& values, Tier tier);

}  // namespace ridgeline::analyzer
