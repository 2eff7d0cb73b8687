#include <algorithm>
#include <limits>

#include "ridgeline/base/statistics.h"
#include "ridgeline/comparison/ladder.h"
#include "ridgeline/comparison/steady.h"
#include "ridgeline/store/order.h"

namespace ridgeline::comparison {
namespace {

using analyzer::Model;
using analyzer::Session;
using analyzer::StepAnalysis;
using analyzer::StepSummary;

constexpr double kMaxDrift = 0.01;
constexpr std::size_t kMinSteps = 8;
constexpr std::size_t kMinSamples = 6;

template <typename T>
std::shared_ptr<const T> answered(analyzer::Answer<T> answer) {
  if (!answer) throw Error(answer.failure().kind, answer.failure().message);
  return std::move(answer).value();
}

// The steps that the representative was chosen from, in order of time; open ones have another end.
std::vector<const StepSummary*> steps_of(const StepAnalysis& analysis) {
  std::vector<const StepSummary*> steps;
  const auto& peers = analysis.representative.peers;
  for (const StepSummary& step : analysis.steps) {
    if (step.closed && step.gpu_duration_ns > 0 &&
        std::find(peers.begin(), peers.end(), step.index) != peers.end())
      steps.push_back(&step);
  }
  std::sort(steps.begin(), steps.end(),
            [](const StepSummary* x, const StepSummary* y) { return x->gpu_start_ns < y->gpu_start_ns; });
  return steps;
}

// Samples of the device that the process runs on, of a stretch of time.
std::vector<const store::ClockSample*> samples_of(const Model& model, store::Id device_id,
                                                  std::int64_t from_ns, std::int64_t to_ns) {
  std::vector<const store::ClockSample*> samples;
  for (const store::ClockSample& sample : model.clock_samples) {
    if (sample.device_id == device_id && sample.time_ns >= from_ns && sample.time_ns < to_ns)
      samples.push_back(&sample);
  }
  return samples;
}

// The device with the most kernel time of the representative step.
store::Id device_of(const Model& model, const StepAnalysis& analysis) {
  std::map<store::Id, std::int64_t> time_ns;
  for (const analyzer::LaunchIndex index : analysis.representative.launches) {
    if (index >= model.launches.size()) continue;
    const analyzer::Launches::Row& row = model.launches.row(index);
    time_ns[model.launches.site(index).device_id] += std::max<std::int64_t>(0, row.end_ns - row.start_ns);
  }
  const auto most = std::max_element(time_ns.begin(), time_ns.end(),
                                     [](const auto& x, const auto& y) { return x.second < y.second; });
  return most == time_ns.end() ? 0 : most->first;
}

// The first step that starts when the clock has settled.
Steady settled_clock(const std::vector<const StepSummary*>& steps,
                     const std::vector<const store::ClockSample*>& samples) {
  std::vector<double> clocks;
  std::vector<std::int64_t> times;
  for (const store::ClockSample* sample : samples) {
    if (!sample->sm_clock_hz) continue;
    clocks.push_back(static_cast<double>(*sample->sm_clock_hz));
    times.push_back(sample->time_ns);
  }
  if (clocks.size() < kMinSamples) return {};
  const Steady steady = steady_from(clocks, kMaxDrift, kMinSamples / 2);
  if (steady.first == 0) return steady;
  const auto first = std::find_if(steps.begin(), steps.end(), [&](const StepSummary* step) {
    return step->gpu_start_ns >= times[steady.first];
  });
  const auto at = static_cast<std::size_t>(first - steps.begin());
  return {std::min(at, steps.size() / 2), steady.settled};
}

void add_device_facts(LadderRun& run, const std::vector<const store::ClockSample*>& samples) {
  std::vector<double> clocks, watts;
  for (const store::ClockSample* sample : samples) {
    if (sample->sm_clock_hz) clocks.push_back(static_cast<double>(*sample->sm_clock_hz));
    if (sample->power_mw) watts.push_back(1e-3 * static_cast<double>(*sample->power_mw));
  }
  if (!clocks.empty()) run.sm_clock_hz = median(std::move(clocks));
  if (watts.empty()) return;
  run.power_w = mean(watts);
  run.joules_per_step = *run.power_w * run.step_ns * 1e-9;
}

void add_steps(LadderRun& run, const Model& model, const StepAnalysis& analysis) {
  const std::vector<const StepSummary*> steps = steps_of(analysis);
  const store::Id device_id = device_of(model, analysis);
  if (steps.empty()) {
    // No steps, or one that nothing closes: what stands for all is all there is.
    const auto& whole = analysis.representative;
    run.step_ns = analysis.spread.count > 0
                      ? analysis.spread.median_ns
                      : static_cast<double>(whole.window_end_ns - whole.window_start_ns);
    run.steps = 1;
    run.settled = false;
    add_device_facts(run, samples_of(model, device_id, whole.window_start_ns, whole.window_end_ns));
    return;
  }
  const auto end_ns = [](const StepSummary& step) { return step.gpu_start_ns + step.gpu_duration_ns; };
  const Steady clock =
      settled_clock(steps, samples_of(model, device_id, steps.front()->gpu_start_ns, end_ns(*steps.back())));
  std::vector<double> times;
  for (std::size_t i = clock.first; i < steps.size(); ++i)
    times.push_back(static_cast<double>(steps[i]->gpu_duration_ns));
  const LadderRun by_time = observe_times(times);
  const std::size_t first = clock.first + static_cast<std::size_t>(by_time.discarded);
  run.step_ns = by_time.step_ns;
  run.steps = by_time.steps;
  run.discarded = static_cast<std::int64_t>(first);
  run.settled = clock.settled && by_time.settled;
  add_device_facts(run, samples_of(model, device_id, steps[first]->gpu_start_ns, end_ns(*steps.back())));
}

LadderObservation observed(const std::string& path) {
  const RunProfile profile = profile_run(path).value();
  auto capture = store::Capture::open(path);
  if (!capture) throw Error(capture.failure().kind, capture.failure().message);
  const store::Capture file = std::move(capture).value();
  Session session(store::Capture::open(path).value(), {});
  const auto steps = answered(session.steps({}, {}));
  const auto model = answered(session.model({}, {}));
  LadderObservation result;
  LadderRun& run = result.run;
  add_steps(run, *model, *steps);
  run.launches = profile.launches();
  if (!run.sm_clock_hz) run.sm_clock_hz = profile.sm_clock_hz;
  if (!profile.devices.empty()) run.device = profile.devices.front().name;
  for (const store::MemoryPeak& peak : store::Order(file).memory_peaks()) {
    if (peak.process_id != steps->process_id || peak.peak_bytes <= 0) continue;
    run.peak_memory_bytes = run.peak_memory_bytes.value_or(0) + static_cast<double>(peak.peak_bytes);
  }
  for (const KernelSite& site : profile.sites) {
    if (site.calls > 0) result.kernels[site.family.empty() ? site.kernel : site.family] += site.calls;
  }
  return result;
}

}  // namespace

Result<LadderObservation> observe_capture(const std::string& path) {
  try {
    return observed(path);
  } catch (const Error& error) {
    if (error.kind() == ErrorKind::internal) throw;
    const bool named = error.message().find(path) != std::string::npos;
    return Failure{error.kind(), named ? error.message() : path + ": " + error.message()};
  }
}

LadderRun observe_times(const std::vector<double>& step_ns) {
  const Steady steady = steady_from(step_ns, kMaxDrift, kMinSteps);
  LadderRun run;
  run.step_ns = median({step_ns.begin() + static_cast<std::ptrdiff_t>(steady.first), step_ns.end()});
  run.discarded = static_cast<std::int64_t>(steady.first);
  run.steps = static_cast<std::int64_t>(step_ns.size()) - run.discarded;
  run.settled = steady.settled;
  return run;
}

}  // namespace ridgeline::comparison
