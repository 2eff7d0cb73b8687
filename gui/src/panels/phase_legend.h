// phase_legend.h: what the colours of a chart's steps are.
#pragma once

#include <set>

#include "panels/charts.h"
#include "ridgeline/base/vocabulary.h"

namespace ridgeline::gui {

/// In the order of recording. Of one phase there is nothing to tell apart: empty.
[[nodiscard]] ColumnChart::Legend phase_legend(const std::set<Phase>& phases);

}  // namespace ridgeline::gui
