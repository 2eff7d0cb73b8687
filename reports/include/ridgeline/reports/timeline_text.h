// timeline_text.h: what the lines of a timeline are, in words.
#pragma once

#include <string>

#include "ridgeline/analyzer/trace/timeline.h"

namespace ridgeline::reports {

/// What a line holds, a sentence; "" if its label says it.
[[nodiscard]] std::string row_help(const analyzer::TimelineRow& row);

}  // namespace ridgeline::reports
