/// interference.h: what collectives cost the kernels that ran beside them, against launches of the same kind that ran
/// beside none.
///
/// A launch is of a kind by its kernel, grid, block, registers and shared memory, and by the kernels before and
/// after it on its stream: a library's kernel with one grid does other work at another place of a layer.
/// Formulas: docs/metrics.md, "Many ranks".
#pragma once

#include <map>
#include <optional>
#include <tuple>
#include <vector>

#include "ranks/spans.h"
#include "ridgeline/store/job.h"

namespace ridgeline::analyzer::ranks {

/// When a collective ran, or a copy between devices.
struct CollectiveTime {
  Span time;
  std::optional<CollectiveFunction> function;
};

/// A launch that computes.
struct ComparedLaunch {
  Span time;
  std::int64_t step_index = 0;
  store::Id kernel_id = 0;  ///< of the job, as the next two; those 0: none
  store::Id kernel_before_id = 0;
  store::Id kernel_after_id = 0;
  store::Dim3 grid;
  store::Dim3 block;
  std::int64_t registers_per_thread = 0;
  std::int64_t smem_bytes = 0;
};

struct StepInterference {
  std::int64_t beside_ns = 0;
  std::int64_t controlled_ns = 0;
  std::optional<double> cost_ns;  ///< empty: no launch of any step has controls
};

struct Interference {
  std::map<std::int64_t, StepInterference> steps;  ///< by index: those that have launches
  std::vector<store::JobInterference> kernels;     ///< by kernel and function; rank is not filled
};

[[nodiscard]] Interference interference_of(const std::vector<ComparedLaunch>& launches,
                                           std::vector<CollectiveTime> collectives);

}  // namespace ridgeline::analyzer::ranks
