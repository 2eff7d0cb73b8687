// declared_work.h: what the program says a range must move and compute, beside what its launches did.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "ridgeline/analyzer/utilisation.h"

namespace ridgeline::analyzer {

// All ranges of the representative step that share a path and an annotation name, taken together.
struct DeclaredWork {
  std::string path;  // NVTX path
  std::string name;  // the annotation's
  std::int64_t ranges = 0;
  std::int64_t launches = 0;
  std::int64_t time_ns = 0;
  std::optional<double> declared_bytes;
  std::optional<double> declared_flops;
  std::optional<double> measured_bytes;       // DRAM; empty unless every launch has a value
  std::optional<double> measured_tensor_ops;  // likewise
  std::optional<double> bytes_ratio;          // measured ÷ declared
  std::optional<double> ops_ratio;
};

// Empty if the program declares nothing. Order: time_ns, descending.
[[nodiscard]] std::vector<DeclaredWork> compare_declared_work(const Model& model, const StepAnalysis& steps,
                                                              const UtilisationAnalysis& utilisation);

}  // namespace ridgeline::analyzer
