// opened_capture.h: a capture held whole against what was accepted: every row, and all that its reader says of them.
#pragma once

#include <string>
#include <tuple>

#include "support/accepted_cases.h"
#include "support/capture_rows.h"
#include "support/whole_model.h"

namespace ridgeline::testing {

template <>
struct ShownParts<analyzer::Model> {
  static auto of(const analyzer::Model& m) {
    return std::tie(m.run, m.versions, m.environment, m.processes, m.devices, m.device_peaks, m.ceilings,
                    m.clock_samples, m.kernels, m.configurations, m.launches, m.memcpys, m.memsets, m.steps,
                    m.metrics, m.launch_metrics, m.completeness, m.tier_statuses, m.messages, m.nvtx_ranges,
                    m.annotations, m.pm_windows, m.tier_coverage, m.replay_exclusions, m.graph_metrics,
                    m.recording_windows, m.threads, m.synchronisations, m.ordering_calls, m.streams,
                    m.graph_nodes, m.graph_edges, m.process_totals, m.stall_windows, m.stall_samples,
                    m.source_lines, m.strings, m.lost_rows);
  }
};

/// Returns what it is given.
inline Result<store::Capture> held(Result<store::Capture> opened) {
  AcceptedCases::expect([&]() -> std::string {
    if (!opened.ok()) return "refused: " + fields(opened.failure());
    std::string text = capture_rows(opened.value());
    try {
      text += fields(whole_model(opened.value()));
    } catch (const Error& error) {
      text += "threw: " + error.message();
    }
    return text;
  });
  return opened;
}

}  // namespace ridgeline::testing
