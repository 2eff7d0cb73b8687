// timeline_clock.h: the SM clock while the timeline steps ran.
#pragma once

#include <cstdint>
#include <optional>

#include "ridgeline/analyzer/model.h"
#include "ridgeline/analyzer/steps.h"

namespace ridgeline::analyzer {

struct TimeWindow {
  std::int64_t begin_ns = 0;  // both 0: no timeline step has a time
  std::int64_t end_ns = 0;
};

/// From the first timeline step's GPU work to the last one's end, of the analysed process.
[[nodiscard]] TimeWindow timeline_window(const StepAnalysis& steps);

/// Median of the clock samples inside the window, in Hz; of all samples if none is inside; empty if there is
/// none.
[[nodiscard]] std::optional<double> timeline_sm_clock_hz(const Model& model, const StepAnalysis& steps,
                                                         store::Id device_id);

}  // namespace ridgeline::analyzer
