// launch_query.h: what is known of one execution of a kernel beside its counters: where it belongs and how it
// came about.
#pragma once

#include <cstdint>
#include <optional>
#include <stop_token>
#include <string>

#include "ridgeline/analyzer/model/model.h"
#include "ridgeline/base/error.h"
#include "ridgeline/store/capture.h"

namespace ridgeline::queries {

/// One launch. Two of a kernel start at the same time on no device.
struct LaunchQuery {
  store::Id device_id = 0;
  store::Id kernel_id = 0;
  std::int64_t start_ns = 0;
};

struct LaunchFacts {
  store::Launch launch;
  std::optional<std::int64_t> step_index;  ///< empty: it ran between steps
  std::string nvtx_path;                   ///< of the ranges in which it was launched, "a / b"; "": in none
  std::string thread;                      ///< that launched it, as people know it; "": not recorded
  std::optional<std::int64_t> call_ns;     ///< that the launch call took
  /// From the end of the call to the start on the GPU; 0: it started before the call returned; empty: the call was not
  /// recorded. Of a node of a CUDA graph the call is that of the whole graph.
  std::optional<std::int64_t> queued_ns;
};

/// `model` is of the same capture. Failures: no_data (there is no such launch), cancelled, those of the file.
[[nodiscard]] Result<LaunchFacts> ask_launch(const store::Capture& capture, const analyzer::Model& model,
                                             const LaunchQuery& query, const std::stop_token& stop = {});

}  // namespace ridgeline::queries
