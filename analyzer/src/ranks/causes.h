/// causes.h: what makes a step of a rank longer than another's: work, cycles, clock, gaps, copies.
#pragma once

#include <map>
#include <optional>

#include "ranks/collective_costs.h"
#include "ranks/job_view.h"
#include "ridgeline/analyzer/ranks/job_analysis.h"

namespace ridgeline::analyzer::ranks {

/// What a step is held against: medians over ranks, or the steps of a rank alone.
struct ReferenceStep {
  struct Kernel {
    double launches = 0;
    double blocks = 0;
    double time_ns = 0;
  };
  std::map<std::string, Kernel> kernels;
  double own_ns = 0;
  double compute_ns = 0;
  double copy_ns = 0;
  double idle_ns = 0;
  std::optional<double> sm_clock_hz;
};

/// Medians over the ranks in a step, without that of place `leave_out`.
[[nodiscard]] ReferenceStep reference_of(const JobView& view, const std::vector<StepParts>& parts,
                                         std::size_t step, std::optional<std::size_t> leave_out);

/// The step of one rank as a reference.
[[nodiscard]] ReferenceStep step_of(const JobView& view, const std::vector<StepParts>& parts,
                                    std::size_t rank, std::size_t step);

/// What `step` takes longer than the reference, in parts that add up to the difference of own times. `clock_counts`:
/// its clock was sampled well enough to be told from cycles.
[[nodiscard]] LatenessParts lateness_parts(const ReferenceStep& step, const ReferenceStep& reference,
                                           bool clock_counts);

/// The cause that is most of them; unexplained where none is.
[[nodiscard]] LatenessCause cause_of(const LatenessParts& parts);

}  // namespace ridgeline::analyzer::ranks
