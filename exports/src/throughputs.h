// throughputs.h: the counters that Perfetto's view of a compute kernel asks for, of the launches of the analysed step.
#pragma once

#include <cstddef>
#include <map>
#include <utility>
#include <vector>

#include "ridgeline/store/capture.h"
#include "trace_writer.h"

namespace ridgeline::exports {

/// Counters as `counters` (their ids are to be set) and for each launch values by place in that list. They are joined:
/// a launch of the step has its own time, and counters of its place in replayed steps (T2), else samples' (T1).
struct Throughputs {
  std::vector<TraceCounter> counters;
  std::map<Id, std::vector<std::pair<std::size_t, double>>> of_launch;
};

/// Empty where nothing was measured. Throws what the analysis throws.
[[nodiscard]] Throughputs throughputs(const store::Capture& capture, const std::stop_token& stop);

}  // namespace ridgeline::exports
