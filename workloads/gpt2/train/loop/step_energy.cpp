#include "gpt2/train/loop/step_energy.h"

namespace ridgeline::gpt2 {

void StepEnergyMeter::step_ended(double now_seconds) {
  if (running_) ++steps_;
  if (running_ && now_seconds - read_seconds_ < kPauseSeconds) return;
  const std::optional<double> joules = read_();
  if (!joules) return;
  read_seconds_ = now_seconds;
  if (!running_) {
    running_ = true;
    first_joules_ = *joules;
    first_seconds_ = now_seconds;
    steps_ = 0;
    return;
  }
  const double seconds = now_seconds - first_seconds_;
  if (seconds > longest_.seconds) longest_ = {*joules - first_joules_, seconds, steps_};
}

std::optional<StepEnergy> StepEnergyMeter::longest() const {
  if (longest_.seconds < kMinSeconds) return std::nullopt;
  return StepEnergy{longest_.joules / static_cast<double>(longest_.steps), longest_.seconds, longest_.steps};
}

}  // namespace ridgeline::gpt2
