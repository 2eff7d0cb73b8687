// timeline_counters.h: samples of a capture as lines of a timeline.
#pragma once

#include "ridgeline/analyzer/trace/timeline.h"

namespace ridgeline::analyzer {

/// In-situ samples first, in the order in which people look for a cause, then clocks, power and temperature.
void add_counter_rows(const store::Capture& capture, Timeline& data);

}  // namespace ridgeline::analyzer
