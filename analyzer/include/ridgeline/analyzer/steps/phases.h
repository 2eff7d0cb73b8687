// phases.h: the steps of a recording by phase: how many, how long, which ones stand out.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "ridgeline/analyzer/steps/steps.h"

namespace ridgeline::analyzer {

/// The steps of one phase of one process.
struct PhaseSummary {
  store::Id process_id = 0;
  decltype(StepSummary::phase) phase{};
  std::int64_t steps = 0;
  std::int64_t not_ok = 0;
  StepSpread spread;  ///< of the GPU durations that are known
  std::vector<std::size_t>
      outliers;  ///< steps far from the median, as in StepOptions; indices of the argument
};

/// It was taken for a step until others were found: no step of any phase.
[[nodiscard]] bool is_superseded(const store::Step& step);

/// In the order in which the phases first occur, without superseded steps. Pure.
[[nodiscard]] std::vector<PhaseSummary> summarise_phases(const std::vector<StepSummary>& steps,
                                                         const StepOptions& options = {});

/// Indices of the steps that a reader should see of a long list, in order: those that are not ok and the outliers,
/// at most `most`, and `always` if it is one of them.
[[nodiscard]] std::vector<std::size_t> unusual_steps(const std::vector<StepSummary>& steps,
                                                     const std::vector<PhaseSummary>& phases,
                                                     store::Id always, std::size_t most);

}  // namespace ridgeline::analyzer
