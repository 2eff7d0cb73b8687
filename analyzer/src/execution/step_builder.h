// step_builder.h: finds out what each piece of a recorded step waited for.
#pragma once

#include <vector>

#include "execution/recorded_step.h"
#include "execution/step_edit.h"
#include "execution/step_graph.h"

namespace ridgeline::analyzer {

struct BuildOptions {
  std::int64_t launch_latency_ns = 5000;  ///< work that could run starts within this
};

struct BuiltStep {
  StepGraph graph;
  std::vector<NodeIndex> node_of_work;  ///< by RecordedStep::works
  NodeIndex anchor = kNoNode;  ///< of the work that the step begins with; kNoNode: it does not repeat
  std::int64_t offset_ns = 0;  ///< from the first moment of the graph to the step's start, if it does not
  std::int64_t concluded = 0;  ///< dependencies between streams that the times show and nobody recorded
  std::int64_t unexplained_ns =
      0;  ///< of pauses of a stream that nothing explains; they are kept as they are
};

/// Reads from the times of a recorded step what held each call and each piece of work back, so that a simulation with
/// the recorded durations gives the recorded step. The rules, in docs/metrics.md "What reaches the step":
/// - A thread's calls follow one another; between them lies the CPU's own time. Where threads take turns, the one whose
///   turn it is goes on from where the other ended.
/// - A call that waits ends with the work it waited for: the last that ended before it did.
/// - Work of a stream runs in the order of issue. It starts after its predecessor by the recorded pause, or, where the
///   stream was idle when the call came, after the call by the recorded latency.
/// - Issued in time, its stream idle, and yet not started: it waited for the work of another stream that ended then.
///
/// With an edit the same step as it would be with it: what waits for what is concluded from the recorded times, so that
/// the nodes are those of the step without it.
[[nodiscard]] BuiltStep build_graph(const RecordedStep& step, const BuildOptions& options = {},
                                    const StepEdit& edit = {});

}  // namespace ridgeline::analyzer
