// throughput.h: how much of the device's peak the step as a whole used.
#pragma once

#include <optional>
#include <string>

#include "ridgeline/analyzer/ranking/ranking.h"
#include "ridgeline/analyzer/utilisation/peaks.h"
#include "ridgeline/analyzer/work/step_size.h"

namespace ridgeline::analyzer {

/// Operations of the whole step over the whole step's time, gaps and copies included.
struct Throughput {
  std::int64_t step_ns = 0;
  ScopeKind scope = ScopeKind::step;  ///< what "step" means here
  bool imported = false;              ///< what is declared is by the shapes of a trace (Model::imported())
  /// What the program declares (of all declaring ranges): its own convention. Empty: it declares nothing.
  std::optional<double> declared_flops;
  std::optional<double> declared_flops_per_s;
  /// What the tensor pipe did; empty if a launch has no count.
  std::optional<double> tensor_ops;
  std::optional<double> tensor_ops_per_s;
  std::optional<Peak> peak;            ///< of the type most tensor operations are of, of one device
  std::int64_t device_count = 0;       ///< that the step launched on; ratios are of so many peaks
  std::optional<double> mfu;           ///< declared ÷ step ÷ peak: model FLOP/s utilisation
  std::optional<double> hardware;      ///< the same of the tensor pipe's operations
  StepSize size;                       ///< of this process; with data parallelism others work through theirs
  std::optional<double> tokens_per_s;  ///< size ÷ step
  std::optional<double> samples_per_s;
};

/// `ranking` is of the same utilisation, with its declared work. A step on several devices is measured against the
/// peaks of all that it launched on, and has none if these differ.
[[nodiscard]] Throughput step_throughput(const Model& model, const UtilisationAnalysis& utilisation,
                                         const Ranking& ranking, const PeakPolicy& peaks = {},
                                         const StepSize& size = {});

}  // namespace ridgeline::analyzer
