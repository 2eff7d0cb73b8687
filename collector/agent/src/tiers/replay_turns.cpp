// Which set of counters a replay step takes, and in which way it is measured.
#include <algorithm>

#include "tiers/replay.h"

namespace ridgeline::agent {
namespace {

constexpr std::uint32_t kMostPauses = 64;  // in a step, 40 ms each

}  // namespace

// A session counts either kernels or graph launches: steps with both take turns, the graphs first. A step
// with very many graph launches counts them alone, since counting kernels between them pauses at each.
bool Replay::takes_turns() const noexcept {
  const LaunchSequence* reference = steps_.reference();
  return reference != nullptr && reference->graph_launches() > 0 && reference->count() > 0 &&
         reference->graph_launches() <= kMostPauses;
}

bool Replay::counts_graphs(const StepTracker::Step& step) const noexcept {
  const LaunchSequence* reference = steps_.reference();
  if (step.phase != Phase::replay || reference == nullptr || reference->graph_launches() == 0) return false;
  return !takes_turns() || step.number_in_phase % 2 == 0;
}

bool Replay::leaves_out(const LaunchSequence& step) const noexcept {
  for (std::uint32_t i = 0; i < step.count(); ++i)
    if (exclusions_.added(step[i].kernel_id)) return true;
  return false;
}

// Steps with kernels that are left out, as the latest timeline step shows it, would pause at each of them, and so would
// those with waits for the host.
Ranges Replay::way_of(const StepTracker::Step& step) const noexcept {
  if (counts_graphs(step)) return Ranges::graphs;
  const LaunchSequence* reference = steps_.reference();
  const bool marked = waits_ || (reference != nullptr && leaves_out(*reference));
  return step.phase == Phase::replay && marked ? Ranges::marked : Ranges::automatic;
}

// True if the step can be one start and stop of a session that goes on with another set in the next: nothing
// in it to pause for. As the latest timeline step shows it.
bool Replay::may_rotate(const StepTracker::Step& step) const noexcept {
  const LaunchSequence* reference = steps_.reference();
  if (step.phase != Phase::replay || replay_sets_ < 2 || reference == nullptr ||
      reference->graph_launches() > 0 || reference->count() == 0 || pauses_ ||
      steps_.most_launches() > CounterSession::kMostRangesRotating)
    return false;
  return !leaves_out(*reference);
}

// Opening a session is dear, so that steps of one configuration follow each other: with enough steps each
// takes several in a row, with too few the last ones none.
std::uint32_t Replay::config_id(const StepTracker::Step& step) const noexcept {
  const auto turn = [](std::uint64_t number, std::uint64_t steps, std::uint64_t sets) {
    return static_cast<std::uint32_t>(steps >= sets && number < steps ? number * sets / steps
                                                                      : number % sets);
  };
  const std::uint32_t cold_sets = std::min(replay_sets_, CounterPlan::kColdSets);
  const std::uint32_t number = step.number_in_phase, steps = step.steps_in_phase;
  switch (step.phase) {
    case Phase::replay:
      if (replay_sets_ == 0) return 0;
      if (may_rotate(step)) return 1 + number % replay_sets_;
      if (takes_turns()) return 1 + turn(number / 2, steps / 2, replay_sets_);
      return 1 + turn(number, steps, replay_sets_);
    case Phase::cold:
      return cold_sets == 0 ? 0 : 1 + turn(number, steps, cold_sets);
    case Phase::flops:
      return flops_sets_ == 0 ? 0 : 1 + replay_sets_ + turn(number, steps, flops_sets_);
    default:
      return 0;
  }
}

}  // namespace ridgeline::agent
