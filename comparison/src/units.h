// units.h: what is compared with what: sites of all runs that are one kernel, or one group, with their times by run.
#pragma once

#include <string>
#include <vector>

#include "ridgeline/comparison/match.h"

namespace ridgeline::comparison {

/// One unit of the comparison: per run the sites that belong to it.
struct Unit {
  std::vector<std::vector<std::uint32_t>> a, b;  ///< by run; sites of that run
  MatchLevel level = MatchLevel::exact;
  double confidence = 1;
  [[nodiscard]] bool in_a() const;
  [[nodiscard]] bool in_b() const;
};

struct Units {
  std::vector<Unit> units;
  double matched_share = 0;  ///< of the kernel time of all runs
  bool families_only = false;
};

/// Runs of one side are matched to the first of their side, the two firsts to each other. A kernel that is matched to
/// different ones in different runs (an autotuner's choice) joins these. Failure: usage (rules).
[[nodiscard]] Result<Units> make_units(const std::vector<RunProfile>& a, const std::vector<RunProfile>& b,
                                       const MatchOptions& options);

/// Σ over the unit's sites of a run.
template <typename Value>
[[nodiscard]] double sum_of(const RunProfile& run, const std::vector<std::uint32_t>& sites, Value value) {
  double sum = 0;
  for (const std::uint32_t site : sites) sum += value(run.sites[site]);
  return sum;
}

}  // namespace ridgeline::comparison
