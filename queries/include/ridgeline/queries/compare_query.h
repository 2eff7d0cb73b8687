// compare_query.h: what changed between captures.
#pragma once

#include <cstddef>
#include <functional>
#include <string>
#include <vector>

#include "ridgeline/comparison/comparison.h"
#include "ridgeline/comparison/profile.h"
#include "ridgeline/comparison/run_durations.h"

namespace ridgeline::queries {

struct CompareQuery {
  std::vector<std::string> a, b;  ///< captures of the runs of either side, in the order of recording
  comparison::ComparisonOptions options;
  analyzer::AnalysisOptions analysis = {};  ///< of either side: its roofs
};

/// Before each capture is read: how many were, of how many.
using CompareProgress = std::function<void(std::size_t done, std::size_t all)>;

/// One run. Failures: those of comparison::profile_run(), naming the capture.
[[nodiscard]] Result<comparison::RunProfile> profile_of(const std::string& capture,
                                                        const analyzer::QueryOptions& how = {},
                                                        const analyzer::AnalysisOptions& analysis = {});
/// Failures: those of reading the captures, naming the one, and of comparison::compare().
[[nodiscard]] Result<comparison::Comparison> ask(const CompareQuery& query,
                                                 const analyzer::QueryOptions& how = {},
                                                 const CompareProgress& progress = {});

/// How long the launches of these kernels took in one run, or its steps.
struct RunDurationsQuery {
  std::string capture;
  std::vector<std::string> kernels;  ///< demangled names; none: its steps
};

/// Failures: those of comparison::durations_of_run(), naming the capture.
[[nodiscard]] Result<comparison::DurationSpread> ask(const RunDurationsQuery& query,
                                                     const analyzer::QueryOptions& how = {});

}  // namespace ridgeline::queries
