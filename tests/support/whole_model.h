// whole_model.h: all that a capture holds, in one model: what a session answers is held against it.
#pragma once

#include "ridgeline/analyzer/model/model.h"

namespace ridgeline::testing {

inline analyzer::Model whole_model(const store::Capture& capture) {
  analyzer::Model model = analyzer::load_recording(capture);
  for (const store::Launch& launch : capture.launches()) model.launches.push_back(launch);
  model.memcpys = capture.memcpys();
  model.memsets = capture.memsets();
  model.launch_metrics = capture.launch_metrics();
  model.nvtx_ranges = capture.nvtx_ranges();
  model.annotations = capture.annotations();
  model.graph_metrics = capture.graph_metrics();
  model.stall_samples = capture.stall_samples();
  model.source_lines = capture.source_lines();
  for (const store::Process& process : model.processes) {
    for (const store::Synchronisation& wait : capture.synchronisations(process.id, 0, INT64_MAX))
      model.synchronisations.push_back(wait);
  }
  analyzer::require_sums_fit(model);
  model.index();
  return model;
}

}  // namespace ridgeline::testing
