// painter.h: events and samples into bins.
#pragma once

#include <vector>

#include "ridgeline/analyzer/trace/trace.h"

namespace ridgeline::analyzer {

struct PaintEvent {
  std::int64_t start_ns = 0;
  std::int64_t end_ns = 0;
  store::Id id = 0;
};

/// Bins of the events that touch the window; sorts `events` by start.
[[nodiscard]] std::vector<TraceBin> paint_events(std::vector<PaintEvent>& events, const TimeWindow& window,
                                                 std::size_t bins);
/// `samples` by time.
[[nodiscard]] std::vector<TraceBin> paint_samples(const std::vector<store::PmSample>& samples,
                                                  const TimeWindow& window, std::size_t bins);

}  // namespace ridgeline::analyzer
