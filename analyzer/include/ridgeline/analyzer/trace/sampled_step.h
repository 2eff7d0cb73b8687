// sampled_step.h: one step in situ: what periodic samples (T1) say over its time, above the kernels that ran.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "ridgeline/analyzer/model/scope.h"
#include "ridgeline/analyzer/utilisation/utilisation.h"

namespace ridgeline::analyzer {

/// Kernels of one class in a row.
struct ClassRun {
  KernelClass kernel_class = KernelClass::other;
  std::int64_t start_ns = 0;
  std::int64_t end_ns = 0;
};

struct SampledStep {
  std::int64_t step_index = 0;
  TimeWindow window;         ///< the kernels' own extent: copies for a step may run ahead of it
  std::int64_t samples = 0;  ///< inside the window
  double interval_ns = 0;    ///< median time from one sample to the next
  std::vector<double>
      dram_ratio;  ///< of the DRAM peak, a bin each; a bin without a sample has the one before
  std::vector<double> tensor_ratio;  ///< tensor pipe active; empty: not sampled
  std::vector<ClassRun> classes;     ///< in order of time
};

/// Metrics whose samples sampled_step() reads.
[[nodiscard]] std::vector<std::string_view> sampled_step_metrics();

/// The sampled step that the samples cover best, in `bins` bins. Empty: no step was sampled, fewer than 10
/// samples, or no DRAM peak.
[[nodiscard]] std::optional<SampledStep> sampled_step(const Model& model,
                                                      const UtilisationAnalysis& utilisation,
                                                      const std::vector<SampleTrace>& traces,
                                                      store::Id device_id, std::size_t bins);

}  // namespace ridgeline::analyzer
