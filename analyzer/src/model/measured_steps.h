// measured_steps.h: which steps hold values of counters or samples, beside those whose phase says so.
#pragma once

#include <algorithm>

#include "ridgeline/analyzer/model/model.h"

namespace ridgeline::analyzer {

/// A step of the timeline onto whose launches counters of another run were joined.
[[nodiscard]] inline bool has_joined_counters(const store::Step& step) {
  return step.phase == Phase::timeline && step.configuration_id.has_value();
}

/// A step of the timeline along which samples were taken all the time, as other profilers do.
[[nodiscard]] inline bool is_sampled_along(const Model& model, const store::Step& step) {
  return step.phase == Phase::timeline &&
         std::any_of(model.pm_windows.begin(), model.pm_windows.end(), [&](const store::PmWindow& window) {
           return window.process_id == step.process_id && window.first_step_index && window.last_step_index &&
                  step.step_index >= *window.first_step_index && step.step_index <= *window.last_step_index;
         });
}

}  // namespace ridgeline::analyzer
