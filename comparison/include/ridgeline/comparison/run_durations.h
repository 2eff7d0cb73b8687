// run_durations.h: how long the launches of a kernel took in one run, in numbers that many runs can be drawn with.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "ridgeline/comparison/profile.h"

namespace ridgeline::comparison {

/// Quantiles of launches or of steps, ns: 5, 25, 50, 75 and 95 %, interpolated between neighbours.
struct DurationSpread {
  std::int64_t count = 0;  ///< those with a time; 0: all below are 0
  double low_ns = 0, quarter_ns = 0, median_ns = 0, three_quarters_ns = 0, high_ns = 0;
};

/// Of the launches of these kernels, by their demangled names, in the steps that the medians of profile_run() are of.
/// Failures: those of profile_run().
[[nodiscard]] Result<DurationSpread> durations_of_run(const std::string& path,
                                                      const std::vector<std::string>& kernels,
                                                      const ProfileOptions& options = {},
                                                      const analyzer::QueryOptions& ask = {});
/// Of those steps themselves; none where all of a recording is taken as one. Failures: likewise.
[[nodiscard]] Result<DurationSpread> steps_of_run(const std::string& path, const ProfileOptions& options = {},
                                                  const analyzer::QueryOptions& ask = {});

}  // namespace ridgeline::comparison
