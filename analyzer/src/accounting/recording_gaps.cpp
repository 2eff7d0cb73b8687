#include <algorithm>
#include <cmath>

#include "accounting/account.h"
#include "ridgeline/analyzer/model/price.h"

namespace ridgeline::analyzer {

// Kernels take as long recorded as alone, and what launching takes longer shows where the GPU waits for it: the
// difference is of these gaps, as far as they go.
void mark_recording_gaps(const Model& model, const RepresentativeStep& step, Accounting& accounting) {
  if (step.whole_recording || step.scope != ScopeKind::step || step.summary.phase != Phase::timeline) return;
  const auto price = recording_price(model, accounting.process_id);
  if (!price || !price->certain()) return;
  const std::int64_t of_launching = accounting.gap_launch_bound_ns + accounting.gap_host_bound_ns;
  const double ns = price->difference_ns() * price->part_of(accounting.launches);
  accounting.gap_recording_ns = std::min<std::int64_t>(std::llround(ns), of_launching);
  accounting.alone_step_ns = static_cast<double>(accounting.step_ns - *accounting.gap_recording_ns);
}

}  // namespace ridgeline::analyzer
