// roofline_parts.h: what the roofline's table and its sentences share.
#pragma once

#include <optional>

#include "ridgeline/analyzer/roofline/roofline.h"

namespace ridgeline::reports {

/// What the work of a row takes at the roofs of that level alone, in ns: the longest where there are several;
/// none where it was not measured.
[[nodiscard]] std::optional<double> time_at(const analyzer::RooflinePoint& point, analyzer::RoofLevel level);

}  // namespace ridgeline::reports
