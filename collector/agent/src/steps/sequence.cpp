#include "steps/sequence.h"

namespace ridgeline::agent {

std::string why_not_replayable(const LaunchSequence& step) {
  if (step.several_contexts()) return "the step launches kernels in several contexts";
  if (!step.complete())
    return "the step launches " + std::to_string(step.count()) + " kernels, more than " +
           std::to_string(LaunchSequence::kCapacity);
  return {};
}

}  // namespace ridgeline::agent
