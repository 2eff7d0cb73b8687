#include "sequence.h"

#include <algorithm>

namespace ridgeline::agent {

std::string why_not_replayable(const LaunchSequence& step) {
  if (step.graph_launches() > 0)
    return "the step launches " + std::to_string(step.graph_launches()) +
           " CUDA graph(s), whose kernels cannot be counted one by one; run the program without CUDA graphs";
  if (step.waiting_kernels() > 0)
    return "the step launches " + std::to_string(step.waiting_kernels()) +
           " collective kernel(s), which would wait for ever when run one at a time";
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
  return {};
}

}  // namespace ridgeline::agent
