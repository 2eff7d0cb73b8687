#include "chosen_steps.h"

#include <algorithm>

namespace ridgeline::comparison {

using analyzer::StepAnalysis;
using analyzer::StepSummary;

ChosenSteps choose_steps(const StepAnalysis& steps, const ProfileOptions& options) {
  ChosenSteps chosen;
  if (steps.representative.whole_recording) return chosen;
  chosen.representative = steps.representative.summary.step_id;
  const std::int64_t launches = std::max<std::int64_t>(1, steps.representative.summary.launches);
  const auto most = static_cast<std::size_t>(std::max<std::int64_t>(3, options.max_launches / launches));
  chosen.ids.push_back(chosen.representative);
  for (const StepSummary& summary : steps.steps) {
    if (chosen.ids.size() >= most) break;
    if (summary.step_id == chosen.representative) continue;
    const auto& peers = steps.representative.peers;
    if (std::find(peers.begin(), peers.end(), summary.index) != peers.end())
      chosen.ids.push_back(summary.step_id);
  }
  return chosen;
}

}  // namespace ridgeline::comparison
