#include "timeline_clock.h"

#include <algorithm>
#include <vector>

#include "ridgeline/base/statistics.h"

namespace ridgeline::analyzer {

TimeWindow timeline_window(const StepAnalysis& steps) {
  TimeWindow window;
  for (const StepSummary& step : steps.steps) {
    if (step.process_id != steps.process_id || step.phase != Phase::timeline || step.gpu_start_ns == 0)
      continue;
    if (window.start_ns == 0) window.start_ns = step.gpu_start_ns;
    window.end_ns = std::max(window.end_ns, step.gpu_end_ns);
  }
  return window;
}

std::optional<double> timeline_sm_clock_hz(const Model& model, const StepAnalysis& steps,
                                           store::Id device_id) {
  const TimeWindow window = timeline_window(steps);
  std::vector<double> inside, all;
  for (const store::ClockSample& sample : model.clock_samples) {
    if (sample.device_id != device_id || sample.sm_clock_hz.value_or(0) <= 0) continue;
    const auto clock_hz = static_cast<double>(*sample.sm_clock_hz);
    all.push_back(clock_hz);
    if (sample.time_ns >= window.start_ns && sample.time_ns <= window.end_ns) inside.push_back(clock_hz);
  }
  std::vector<double>& used = inside.empty() ? all : inside;
  if (used.empty()) return std::nullopt;
  return median(used);
}

double possible_clock(const store::Device* device, double clock_hz) {
  const auto highest = device != nullptr ? device->max_sm_clock_hz : std::nullopt;
  return highest && *highest > 0 ? std::min(clock_hz, static_cast<double>(*highest)) : clock_hz;
}

}  // namespace ridgeline::analyzer
