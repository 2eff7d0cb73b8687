// absences.h: finds out why a tier says nothing of a launch.
#pragma once

#include <map>
#include <optional>

#include "replay_values.h"
#include "ridgeline/analyzer/utilisation/utilisation.h"
#include "tier_values.h"

namespace ridgeline::analyzer {

class Absences {
 public:
  /// Keeps references to all.
  Absences(const Model& model, const StepAnalysis& steps, const TierSteps& replay, const TierSteps& sample);

  [[nodiscard]] bool is_excluded(store::Id kernel_id) const { return excluded_.contains(kernel_id); }
  /// Why nothing at all was replayed of this launch.
  void explain_no_values(const store::Launch& launch, const ReplayValues& values, TierUtilisation& out) const;
  void explain_no_samples(const TierRows& rows, TierUtilisation& out) const;

 private:
  [[nodiscard]] bool has_steps() const { return !steps_.representative.whole_recording; }
  [[nodiscard]] std::optional<Absence> refusal(Tier tier) const;

  const Model& model_;
  const StepAnalysis& steps_;
  const TierSteps& replay_;
  const TierSteps& sample_;
  std::map<store::Id, ExclusionReason> excluded_;  // by kernel
};

}  // namespace ridgeline::analyzer
