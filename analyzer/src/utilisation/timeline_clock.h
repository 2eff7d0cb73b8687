// timeline_clock.h: the SM clock while the timeline steps ran.
#pragma once

#include <cstdint>
#include <optional>

#include "ridgeline/analyzer/model/model.h"
#include "ridgeline/analyzer/model/scope.h"
#include "ridgeline/analyzer/steps/steps.h"

namespace ridgeline::analyzer {

/// From the first timeline step's GPU work to the last one's end, of the analysed process; both 0: no timeline step
/// has a time.
[[nodiscard]] TimeWindow timeline_window(const StepAnalysis& steps);

/// Median of the clock samples inside the window, in Hz; of all samples if none is inside; empty if there is
/// none.
[[nodiscard]] std::optional<double> timeline_sm_clock_hz(const Model& model, const StepAnalysis& steps,
                                                         store::Id device_id);

/// The clock that cycles over another step's time would be, in Hz: at most the device's highest, as far as it is known,
/// for a launch that took less time in that step did so for another reason. `device` may be null.
[[nodiscard]] double possible_clock(const store::Device* device, double clock_hz);

}  // namespace ridgeline::analyzer
