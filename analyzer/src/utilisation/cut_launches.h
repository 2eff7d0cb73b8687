// cut_launches.h: launches that reach over the edges of a window of time: of them counts what lies inside.
#pragma once

#include <cstdint>

#include "ridgeline/analyzer/model/model.h"
#include "ridgeline/analyzer/model/scope.h"
#include "ridgeline/analyzer/utilisation/launch_utilisations.h"

namespace ridgeline::analyzer {

/// How many of them begin before the window or end after it.
[[nodiscard]] std::int64_t cut_by(const TimeWindow& window, const Model& model,
                                  const SharedVector<LaunchIndex>& launches);

/// Durations become those inside the window; what adds up (bytes, operations, cycles) is taken in the same proportion,
/// so that rates and utilisations stay those of the launch. A launch that is cut is a group of its own.
void cut_to(const TimeWindow& window, const Model& model, LaunchUtilisations& launches);

}  // namespace ridgeline::analyzer
