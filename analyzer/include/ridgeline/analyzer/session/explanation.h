// explanation.h: one kernel of a scope, with all that is known of it: what holds it, on what evidence, what to do.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "ridgeline/analyzer/ranking/kernel_hold.h"
#include "ridgeline/analyzer/session/analysis.h"

namespace ridgeline::analyzer {

/// How the launches' durations differ, ns; of launches with a time.
struct DurationSpread {
  std::int64_t calls = 0;
  double min_ns = 0, p10_ns = 0, median_ns = 0, p90_ns = 0, max_ns = 0;
  /// Of one launch from step to step: the mean over the launches of the standard deviation over the peers.
  std::optional<double> between_steps_ns;
};

/// Indices are into the Analysis that it was made of.
struct KernelExplanation {
  std::size_t row = 0;  ///< of Analysis::ranking
  KernelHold hold;
  DurationSpread spread;
  std::vector<Advice> advice;           ///< cases about it or some of its launches, most first
  std::vector<Advice> small;            ///< likewise, of those that give less than is shown
  std::vector<AdviceUnknown> unknown;   ///< rules that cannot judge it
  std::optional<std::size_t> stalls;    ///< of Analysis::stalls.kernels; empty: no sample fell on it
  std::optional<std::size_t> roofline;  ///< of Analysis::roofline.points
};

/// `analysis` is by kernel, of that model, with its check, advice, stalls and roofline; `row` of its ranking.
[[nodiscard]] KernelExplanation explain_kernel(const Model& model, const Analysis& analysis, std::size_t row);

}  // namespace ridgeline::analyzer
