#include "steps/sequence.h"

#include <algorithm>

namespace ridgeline::agent {

std::string why_not_replayable(const LaunchSequence& step) {
  if (step.several_contexts()) return "the step launches kernels in several contexts";
  if (!step.complete())
    return "the step launches " + std::to_string(step.count()) + " kernels, more than " +
           std::to_string(LaunchSequence::kCapacity);
  return {};
}

std::string difference(const LaunchSequence& step, const LaunchSequence& reference) {
  const std::uint32_t both = std::min({step.count(), reference.count(), LaunchSequence::kCapacity});
  for (std::uint32_t i = 0; i < both; ++i)
    if (!(step[i] == reference[i]))
      return "launch " + std::to_string(i) + " is kernel " + std::to_string(step[i].kernel_id) +
             " with grid " + std::to_string(step[i].grid_x) + "x" + std::to_string(step[i].grid_y) + "x" +
             std::to_string(step[i].grid_z) + ", in the timeline step kernel " +
             std::to_string(reference[i].kernel_id) + " with grid " + std::to_string(reference[i].grid_x) +
             "x" + std::to_string(reference[i].grid_y) + "x" + std::to_string(reference[i].grid_z);
  if (step.count() != reference.count())
    return std::to_string(step.count()) + " launches, in the timeline step " +
           std::to_string(reference.count());
  if (step.graph_launches() != reference.graph_launches())
    return std::to_string(step.graph_launches()) + " graph launches, in the timeline step " +
           std::to_string(reference.graph_launches());
  return {};
}

}  // namespace ridgeline::agent
