// timeline_data.h: the analyzer's timeline, under the names that the window uses.
#pragma once

#include "ridgeline/analyzer/trace/counter_row.h"
#include "ridgeline/analyzer/trace/event_row.h"
#include "ridgeline/analyzer/trace/timeline.h"

namespace ridgeline::gui {

using analyzer::CounterBin;
using analyzer::CounterRow;
using analyzer::CounterUnit;
using analyzer::EventBin;
using analyzer::EventName;
using analyzer::EventRow;
using analyzer::EventSum;
using analyzer::RowKind;
using analyzer::TimelineRow;
using analyzer::TimeWindow;
using TimelineData = analyzer::Timeline;

}  // namespace ridgeline::gui
