// assess.h: the parts of assess_quality(). Each fills its fields of the quality and adds its findings.
#pragma once

#include "ridgeline/analyzer/findings/quality.h"

namespace ridgeline::analyzer {

struct QualityInput {
  const Model& model;
  const StepAnalysis& steps;
  const UtilisationAnalysis& utilisation;
  const QualityOptions& options;
  [[nodiscard]] std::int64_t step_ns() const {
    return steps.representative.window_end_ns - steps.representative.window_start_ns;
  }
};

/// Launches seen against launches recorded, and how the recording ended.
void assess_completeness(const QualityInput& input, Quality& quality);
/// What became of each tier.
void assess_tiers(const QualityInput& input, Quality& quality);
/// What share of the step's kernel time is known, together and by tier.
void assess_coverage(const QualityInput& input, Quality& quality);
void assess_tier_shares(const QualityInput& input, Quality& quality);
/// Replay against timeline, and samples against counters.
void assess_disagreements(const QualityInput& input, Quality& quality);
void compare_tiers(const QualityInput& input, Quality& quality);
/// Clocks, power, throttling.
void assess_clocks(const QualityInput& input, Quality& quality);
/// Adds to a finding of steps that took unusually long what the clock did in them, if it was lower than in others.
void explain_outliers(const QualityInput& input, Findings& findings);

}  // namespace ridgeline::analyzer
