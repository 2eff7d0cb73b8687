// tracer.h: reads a line of a timeline from a capture.
#pragma once

#include <map>

#include "ridgeline/analyzer/model/ask.h"
#include "ridgeline/analyzer/model/model.h"
#include "ridgeline/analyzer/trace/trace.h"
#include "ridgeline/store/activity.h"

namespace ridgeline::analyzer {

class Tracer {
 public:
  /// Keeps references to all of them.
  Tracer(const store::Capture& capture, const store::Activity& activity, ReadCounts& counts);

  /// Both throw Refused. `overview`: facts, steps and their totals.
  [[nodiscard]] std::vector<TraceRow> rows(const Model& overview, store::Id device_id,
                                           const TimeWindow& window, const Ask& ask);
  [[nodiscard]] Trace trace(const Model& overview, const TraceQuery& query, const Ask& ask);

 private:
  const std::vector<store::PmSample>& samples(store::Id device_id, store::Id metric_id);

  const store::Capture& capture_;
  const store::Activity& activity_;
  ReadCounts& counts_;
  std::map<std::pair<store::Id, store::Id>, std::vector<store::PmSample>> samples_;  // device, metric
};

}  // namespace ridgeline::analyzer
