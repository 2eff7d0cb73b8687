// tracing_cost.h: what CUPTI goes on to take of each launch when its records of kernels are off again.
//
// Once kernel records were on, CUPTI handles each launch for the rest of the process, whatever is switched off (CUPTI
// 13.0: about as much as its records and their callback take besides). A recording's steps without records therefore
// are slower than the program without a recorder. What that is cannot be seen from inside the program, for only taking
// CUPTI off ends it, which is not done to a program. It is measured in a process of its own, which is.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "ridgeline/base/kept_tracing.h"

namespace ridgeline::launch {

/// Launches an empty kernel some ten thousand times on the first GPU, in a child process that is ended after 10 s;
/// takes a second. `cupti_library`: a file. Empty: no GPU, no such CUPTI, or times too uneven to tell.
[[nodiscard]] std::optional<KeptTracing> measure_kept_tracing(const std::string& cupti_library);

/// Of turns, each with the time of a launch without CUPTI, with records and callback, and with both off again. In ns.
struct TracingTurn {
  double without = 0, recorded = 0, off = 0;
};
/// Empty: fewer than four turns, or what goes is not more than twice its error.
[[nodiscard]] std::optional<KeptTracing> kept_tracing_of(const std::vector<TracingTurn>& turns);

}  // namespace ridgeline::launch
