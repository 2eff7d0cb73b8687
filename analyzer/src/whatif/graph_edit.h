// graph_edit.h: a step whose launches are one graph instead.
#pragma once

#include "execution/step_edit.h"
#include "ridgeline/analyzer/whatif/replay.h"

namespace ridgeline::analyzer {

/// What a thread launches between two waits is launched at once, where it begins today; the CPU's own time in between
/// is gone with the calls.
void edit_as_graph(const RecordedStep& step, const ReplayOptions& options, StepEdit& edit);

}  // namespace ridgeline::analyzer
